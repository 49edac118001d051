// One operand of one stage. CTAs that share it load a slice each and multicast it to all of them.
template <class Operand>
CUTE_DEVICE void load(CUtensorMap const& map, FullBarrier& full, unsigned char* stage, int mn, int k, int slice,
                      uint16_t mask) {
  constexpr uint64_t HINT = uint64_t(Operand::CACHE);
  auto* barrier = reinterpret_cast<uint64_t*>(&full);
  CUTE_UNROLL
  for (int i = 0; i < Operand::PANELS * Operand::BOXES; ++i) {
    int panel = i / Operand::BOXES, row = (slice * Operand::BOXES + i % Operand::BOXES) * Operand::BOX_OUTER;
    int inner = (Operand::K_MAJOR ? k : mn) + panel * Operand::PANEL_INNER;
    int outer = (Operand::K_MAJOR ? mn : k) + row;
    auto* to = stage + panel * Operand::PANEL_BYTES + row * Operand::ROW_BYTES;
    if constexpr (Operand::SHARERS == 1) {
      SM90_TMA_LOAD_2D::copy(&map, barrier, HINT, to, inner, outer);
    } else {
      SM90_TMA_LOAD_MULTICAST_2D::copy(&map, barrier, mask, HINT, to, inner, outer);
    }
  }
}
