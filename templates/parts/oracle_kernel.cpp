//{% if cute.widens %}
//{% include "parts/idiomatic_fma.cu" %}

//{% endif %}
namespace {{ name }} {

using namespace cute;

//{% if cute.evaluates_swizzle %}
//{% include "parts/idiomatic_swizzle.cu" %}

//{% endif %}
//{% include "parts/idiomatic_config.cu" %}

//{% include "parts/oracle_mma.cpp" %}

//{% if mainloop != "direct" %}
//{% include "parts/oracle_copies.cpp" %}

//{% endif %}
inline void evaluate() {
  oracle::Scope scope("{{ name }}");
  evaluate_mma();
//{% if mainloop != "direct" %}
  evaluate_copies();
//{% endif %}
}

}  // namespace {{ name }}
