// CuTe's own description of the atoms in cutegen/atoms.py.
//{% include "parts/oracle_write.cpp" %}

using namespace cute;

// (thread, value) to the column-major index of (M,K), (N,K) and (M,N); the thread runs fastest.
template <class Operation, class A, class B, class Accumulator>
void mma(char const* name) {
  using Traits = MMA_Traits<Operation>;
  static_assert(is_same_v<typename Traits::ValTypeA, A> && is_same_v<typename Traits::ValTypeB, B>);
  static_assert(is_same_v<typename Traits::ValTypeC, Accumulator>);
  static_assert(is_same_v<typename Traits::ValTypeD, Accumulator>);
  typename Traits::Shape_MNK shape;
  typename Traits::ThrID threads;
  oracle::Scope scope(name);
  oracle::write("shape", {size<0>(shape), size<1>(shape), size<2>(shape), size(threads)});
  oracle::write_layout("a", typename Traits::ALayout{});
  oracle::write_layout("b", typename Traits::BLayout{});
  oracle::write_layout("c", typename Traits::CLayout{});
}

// (thread, value) of the source and of the destination to the same reference index.
template <class Operation, class Element>
void copy_atom(char const* name) {
  using Atom = Copy_Atom<Operation, Element>;
  oracle::Scope scope(name);
  oracle::write("threads", {size(typename Atom::ThrID{})});
  oracle::write_layout("src", typename Atom::ValLayoutSrc{});
  oracle::write_layout("dst", typename Atom::ValLayoutDst{});
}

int main() {
//{% for atom in mma %}
  mma<{{ atom.name }}, {{ atom.a }}, {{ atom.b }}, {{ atom.acc }}>("{{ atom.key }}");
//{% endfor %}
//{% for atom in copies %}
  copy_atom<{{ atom.name }}, {{ atom.element }}>("{{ atom.key }}");
//{% endfor %}
}
