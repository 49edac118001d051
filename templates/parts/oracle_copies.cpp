// One operand's copies. tidfrg_S and tidfrg_D are what partition_S and partition_D slice for one thread:
// (Thr,CPY,(CPY_MN,CPY_K,...)), here with the thread running fastest. Offsets are in elements of the
// operand's buffer.
template <class Element, class G2SCopy, class S2RCopy, class SmemLayout, class Coords, class Fragment>
void evaluate_copy(char const* operand, SmemLayout smem_layout, Coords const& cX, Fragment const& tCrX) {
  static Element buffer[1 << 20];  // more than any shared memory holds
  Tensor sX = make_tensor(make_smem_ptr(buffer), smem_layout);                         // (BLK_MN,BLK_K,PIPE)
  oracle::Scope scope(operand);
  oracle::write_layout("smem", smem_layout);
  oracle::write_coords("g2s.from", make_tensor(cX.data(), G2SCopy::tidfrg_S(cX.layout())));
  Tensor tXsX = make_tensor(sX.data(), G2SCopy::tidfrg_D(sX.layout()));
  Tensor tYsX = make_tensor(sX.data(), S2RCopy::tidfrg_S(sX.layout()));
  oracle::write_offsets("g2s.to", tXsX, buffer);
  oracle::write_offsets("s2r.from", tYsX, buffer);
  oracle::require_slices(tXsX, [&](int thread) { return G2SCopy{}.get_slice(thread).partition_D(sX); });
  oracle::require_slices(tYsX, [&](int thread) { return S2RCopy{}.get_slice(thread).partition_S(sX); });
  oracle::write_layout("s2r.to", S2RCopy::retile(tCrX.layout()));                      // (CPY,CPY_MN,CPY_K)
  oracle::write_layout("registers", tCrX.layout());                                    // (MMA,MMA_MN,MMA_K)
}

inline void evaluate_copies() {
  Tensor cA = make_identity_tensor(Shape<Int<Config::BLK_M>,Int<Config::BLK_K>>{});
  Tensor cB = make_identity_tensor(Shape<Int<Config::BLK_N>,Int<Config::BLK_K>>{});
  Tensor sA = make_tensor(make_smem_ptr(static_cast<Config::ElementA*>(nullptr)), Config::SmemLayoutA{});
  Tensor sB = make_tensor(make_smem_ptr(static_cast<Config::ElementB*>(nullptr)), Config::SmemLayoutB{});
  ThrMMA thr_mma = Config::TiledMma{}.get_slice(0);
  evaluate_copy<Config::ElementA, Config::G2SCopyA, Config::S2RCopyA>(
      "a", Config::SmemLayoutA{}, cA, thr_mma.partition_fragment_A(sA(_,_,0)));
  evaluate_copy<Config::ElementB, Config::G2SCopyB, Config::S2RCopyB>(
      "b", Config::SmemLayoutB{}, cB, thr_mma.partition_fragment_B(sB(_,_,0)));
}
