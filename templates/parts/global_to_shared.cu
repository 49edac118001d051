// One thread's part of the copies of an operand's k-tiles from global to shared memory.
//
// The first k-tile is the partial one: it starts k_skip elements before k = 0, and what lies there is
// filled with zeros. All later tiles are whole in K, so that the mainloop tests only the MN edge.
template <class Operand>
struct GlobalToShared {
  using T = typename Operand::Element;
  using Copy   = typename CPY_Op<typename Operand::G2S>::type;
  using Vector = typename remove_extent<typename Copy::SRegisters>::type;
  static constexpr int VEC   = Operand::G2S_VEC;
  static constexpr int STEPS = Operand::G2S_STEPS;

  T const* ptr;        // the thread's first element of the next k-tile
  int64_t mn_stride;   // elements
  int64_t k_stride;
  int mn_left;         // from the thread's first row to the edge of the matrix
  int k_first;         // the thread's first k in the next k-tile; negative: before the matrix
  SharedAddress<typename Operand::Write, T> smem;
  Vector staged[Operand::G2S_ASYNC ? 1 : STEPS];  // what passes through registers

  CUTE_DEVICE GlobalToShared(void const* matrix, int64_t ld, int mn_begin, int mn_end, int k_skip, uint32_t smem_begin)
      : smem(smem_begin + Operand::SMEM_OFFSET, threadIdx.x) {
    int mn = mn_begin + typename Operand::G2SThrMN{}(int(threadIdx.x));
    k_first = typename Operand::G2SThrK{}(int(threadIdx.x)) - k_skip;
    mn_stride = Operand::K_MAJOR ? ld : 1;
    k_stride  = Operand::K_MAJOR ? 1 : ld;
    mn_left = mn_end - mn;
    ptr = static_cast<T const*>(matrix) + mn * mn_stride + k_first * k_stride;
  }

  // Start copies [first, last) of the next k-tile; when not valid, nothing is read.
  template <bool PARTIAL>
  CUTE_DEVICE void start(uint32_t stage, int first, int last, bool valid) {
    int left = valid ? mn_left : 0;
    CUTE_UNROLL
    for (int i = first; i < last; ++i) {
      int mn = typename Operand::G2SStepMN{}(i);
      int k  = typename Operand::G2SStepK{}(i);
      bool inside = mn < left;
      if constexpr (PARTIAL) {
        inside = inside && k_first + k >= 0;
      }
      T const* source = ptr + mn * mn_stride + k * k_stride;
      if constexpr (Operand::G2S_ASYNC) {
        auto gX = make_tensor(make_gmem_ptr(source), Layout<Int<VEC>>{});
        auto sX = make_tensor(make_smem_ptr(shared_ptr_at<T>(smem(i) + stage)), Layout<Int<VEC>>{});
        typename Operand::G2S copy;
        copy.pred = inside;
        copy_unpack(copy, gX, sX);
      } else {
        staged[i] = Vector{};
        if (inside) {
          Copy::copy(*reinterpret_cast<Vector const*>(source), staged[i]);
        }
      }
    }
  }

  // Put vectors that passed through registers into shared memory.
  CUTE_DEVICE void finish(uint32_t stage) {
    if constexpr (!Operand::G2S_ASYNC) {
      CUTE_UNROLL
      for (int i = 0; i < STEPS; ++i) {
        Copy::copy(staged[i], *shared_ptr_at<Vector>(smem(i) + stage));
      }
    }
  }

  CUTE_DEVICE void advance() { ptr += Config::BLK_K * k_stride; }

  // From now on k-tiles are whole.
  CUTE_DEVICE void enter_matrix() { k_first = Config::BLK_K; }
};

// Copies [first, last) of a k-block of an operand from shared memory to its fragments.
template <class Operand, class Fragment>
CUTE_DEVICE void s2r(SharedAddress<typename Operand::Read, typename Operand::Element> const& smem,
                     uint32_t stage, int k_block, Fragment& tCrX, int buffer, int first, int last) {
  using T = typename Operand::Element;
  CUTE_UNROLL
  for (int i = first; i < last; ++i) {
    uint32_t address = smem(i + Operand::S2R_COPIES * k_block) + stage;
    auto sX = make_tensor(make_smem_ptr(shared_ptr_at<T>(address)), Layout<Int<Operand::S2R_WIDTH>>{});
    auto rX = make_tensor(tCrX.data() + buffer * Operand::BUFFER + i * Operand::S2R_VEC, Layout<Int<Operand::S2R_VEC>>{});
    copy_unpack(typename Operand::S2R{}, sX, rX);
  }
}
