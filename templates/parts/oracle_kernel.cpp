//{% if cute.widens %}
//{% include "parts/idiomatic_fma.cu" %}
//{% endif %}
namespace {{ name }} {

using namespace cute;

//{% include "parts/idiomatic_config.cu" %}

//{% if mainloop != "direct" %}
//{% include "parts/oracle_copies.cpp" %}
//{% endif %}

//{% include "parts/oracle_mma.cpp" %}

inline void evaluate() {
  oracle::prefix = "{{ name }}.";
  evaluate_mma();
//{% if mainloop != "direct" %}
  evaluate_copies();
//{% endif %}
}

}  // namespace {{ name }}
