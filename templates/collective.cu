//{% include "parts/provenance.cu" %}
//{% include "parts/collective_includes.cu" %}
//{% include "parts/params.cu" %}
//{% include "parts/collective_launch.cu" %}

namespace {{ name }} {

using namespace cute;

//{% include "parts/collective_config.cu" %}

//{% if tree %}
//{% include "parts/collective_fusion.cu" %}

//{% elif combination %}
//{% include "parts/collective_combination.cu" %}

//{% endif %}
//{% include "parts/collective_gemm.cu" %}

//{% include "parts/collective_arguments.cu" %}

}  // namespace {{ name }}

//{% include "parts/collective_entry.cu" %}
