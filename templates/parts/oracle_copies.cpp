// One operand's copies: where every thread reads and writes, in elements of the operand's buffer.
template <class Element, class G2SCopy, class S2RCopy, class SmemLayout, class Coords, class Fragment>
void evaluate_copy(std::string const& x, SmemLayout smem_layout, Coords const& coords, Fragment const& fragment) {
  static Element buffer[1 << 20];
  Tensor sX = make_tensor(make_smem_ptr(buffer), smem_layout);            // (BLK_MN,BLK_K,PIPE)
  oracle::table((x + ".smem").c_str(), smem_layout);

  G2SCopy g2s_copy;
  S2RCopy s2r_copy;
  oracle::sizes((x + ".g2s.sizes").c_str(), g2s_copy.get_slice(0).partition_S(coords));
  oracle::sizes((x + ".s2r.sizes").c_str(), s2r_copy.get_slice(0).partition_S(sX));
  oracle::table((x + ".s2r.fragment").c_str(), fragment.layout());        // (MMA,MMA_MN,MMA_K)
  oracle::table((x + ".s2r.registers").c_str(), s2r_copy.get_slice(0).retile_D(fragment).layout());  // (CPY,CPY_MN,CPY_K)
  std::vector<int32_t> from, to, read;
  oracle::append_coords(from, make_tensor(coords.data(), G2SCopy::tidfrg_S(coords.layout())));
  oracle::append_offsets(to, make_tensor(sX.data(), G2SCopy::tidfrg_D(sX.layout())), buffer);
  oracle::append_offsets(read, make_tensor(sX.data(), S2RCopy::tidfrg_S(sX.layout())), buffer);
  oracle::write((x + ".g2s.from").c_str(), from);
  oracle::write((x + ".g2s.to").c_str(), to);
  oracle::write((x + ".s2r.read").c_str(), read);
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
