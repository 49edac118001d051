// Coordinates of every thread's fragments of A, B and C.
inline void evaluate_mma() {
  Config::TiledMma tiled_mma;
  Tensor cA = make_identity_tensor(Shape<Int<Config::BLK_M>,Int<Config::BLK_K>>{});
  Tensor cB = make_identity_tensor(Shape<Int<Config::BLK_N>,Int<Config::BLK_K>>{});
  Tensor cC = make_identity_tensor(Shape<Int<Config::BLK_M>,Int<Config::BLK_N>>{});
  std::vector<int32_t> a, b, c;
  for (int thread = 0; thread < Config::THREADS; ++thread) {
    ThrMMA thr_mma = tiled_mma.get_slice(thread);
    oracle::append_coords(a, thr_mma.partition_A(cA));  // (MMA,MMA_M,MMA_K)
    oracle::append_coords(b, thr_mma.partition_B(cB));  // (MMA,MMA_N,MMA_K)
    oracle::append_coords(c, thr_mma.partition_C(cC));  // (MMA,MMA_M,MMA_N)
  }
  oracle::write("a.fragment", a);
  oracle::write("b.fragment", b);
  oracle::write("c.fragment", c);
}
