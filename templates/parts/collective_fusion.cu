namespace fusion = cutlass::epilogue::fusion;

// How D comes of the accumulators: a tree of CUTLASS's epilogue nodes, each computed in Config::Scale.
template <template <class> class Operation, class Output, class... Inputs>
using Node = fusion::Sm90EVT<
    fusion::Sm90Compute<Operation, Output, Config::Scale, cutlass::FloatRoundStyle::round_to_nearest>, Inputs...>;
template <class X, class Y>
using Times = Node<cutlass::multiplies, Config::Scale, X, Y>;
//{% if tree.leaves %}
template <class X, class Y>
using Plus = Node<cutlass::plus, Config::Scale, X, Y>;
//{% endif %}

// Inputs of nodes.{{ " Elements of vectors are loaded one by one, as the vectors may begin at any element." if tree.leaves }}
template <class T>
using OneForAll = fusion::Sm90ScalarBroadcast<T>;
//{% if tree.leaves %}
template <class T>
using OneForEachRow = fusion::Sm90ColBroadcast<0, Config::TileShape, T, Config::Scale, Stride<_1, _0, _0>, 1, false>;
template <class T>
using OneForEachColumn = fusion::Sm90RowBroadcast<0, Config::TileShape, T, Config::Scale, Stride<_0, _1, _0>, 1, false>;
//{% endif %}

using Alpha = OneForAll<Config::Scale>;
using Beta = OneForAll<Config::Scale>;
//{% for leaf in tree.leaves %}
using {{ leaf.name }} = {{ leaf.kind }}<{{ leaf.element }}>;
//{% endfor %}

//{% for step in tree.steps %}
using {{ step.name }} = {{ step.operation }}<{{ step.left }}, {{ step.right }}>;
//{% endfor %}
//{% if tree.rounds %}

// Half to even, and within the range of D: CUTLASS converts double to integers by cutting off.
template <class Elements>
struct Round {
  CUTLASS_DEVICE auto operator()(Elements const& x) const {
    cutlass::Array<Config::ElementD, Elements::kElements> y;
    CUTLASS_PRAGMA_UNROLL
    for (int i = 0; i < Elements::kElements; ++i) { y[i] = __double2int_rn(x[i]); }
    return y;
  }
};
using Sum = Node<cutlass::homogeneous_multiply_add, Config::Scale, Beta, fusion::Sm90SrcFetch<Config::ElementC>, {{ tree.last.name }}>;
using Fusion = Node<Round, Config::ElementD, Sum>;
//{% else %}
using Fusion =
    Node<cutlass::homogeneous_multiply_add, Config::ElementD, Beta, fusion::Sm90SrcFetch<Config::ElementC>, {{ tree.last.name }}>;
//{% endif %}

// Arguments of a node are those of its inputs in their order, and its own, which are none.
inline typename Fusion::Arguments fusion_arguments(CutegenParams const& p) {
  typename Alpha::Arguments alpha{{ "{{" }}Config::Scale(p.alpha){{ "}}" }};
  typename Beta::Arguments beta{{ "{{" }}Config::Scale(p.beta){{ "}}" }};
//{% for leaf in tree.leaves %}
//{% if leaf.kind == "OneForAll" %}
  typename {{ leaf.name }}::Arguments {{ leaf.variable }}{{ "{{}, {" }}static_cast<{{ leaf.element }} const*>(p.{{ leaf.variable }}){{ "}}" }};
//{% else %}
  typename {{ leaf.name }}::Arguments {{ leaf.variable }}{static_cast<{{ leaf.element }} const*>(p.{{ leaf.variable }})};
//{% endif %}
//{% endfor %}
//{% for step in tree.steps %}
  typename {{ step.name }}::Arguments {{ step.variable }}{{ "{" }}{{ step.left_variable }}, {{ step.right_variable }}, {}};
//{% endfor %}
//{% if tree.rounds %}
  return {typename Sum::Arguments{beta, {}, {{ tree.last.variable }}, {}}, {}};
//{% else %}
  return {beta, {}, {{ tree.last.variable }}, {}};
//{% endif %}
}
//{% if tree.own_registers %}

}  // namespace {{ name }}

// Elements of C in registers: for a tree of others' CUTLASS takes the type of accumulators, which has not all of C's values.
template <>
struct cutlass::epilogue::fusion::FusionCallbacksTraits<{{ name }}::Fusion> : FusionCallbacksTraits<void> {
  using ElementCompute = {{ name }}::Config::Scale;
};

namespace {{ name }} {

using namespace cute;
//{% endif %}
