//{% include "parts/provenance.cu" %}
#include <cstdint>

#include <cute/tensor.hpp>

//{% include "parts/params.cu" %}

//{% if cute.widens %}
//{% include "parts/idiomatic_fma.cu" %}

//{% endif %}
namespace {{ name }} {

using namespace cute;

//{% if cute.evaluates_swizzle %}
//{% include "parts/idiomatic_swizzle.cu" %}

//{% endif %}
//{% include "parts/idiomatic_config.cu" %}

//{% if mainloop == "direct" %}
//{% include "parts/idiomatic_mainloop_direct.cu" %}
//{% elif stages == 1 %}
//{% include "parts/idiomatic_copy.cu" %}

//{% include "parts/idiomatic_mainloop_single.cu" %}
//{% else %}
//{% include "parts/idiomatic_copy.cu" %}

//{% include "parts/idiomatic_mainloop_multistage.cu" %}
//{% endif %}

//{% include "parts/convert.cu" %}

//{% if store == "smem" %}
//{% include "parts/idiomatic_store_smem.cu" %}
//{% else %}
//{% include "parts/idiomatic_store_direct.cu" %}
//{% endif %}

//{% include "parts/idiomatic_tile.cu" %}

//{% if vectors %}
//{% include "parts/idiomatic_vectors.cu" %}

//{% include "parts/idiomatic_gemm_vectors.cu" %}
//{% else %}
//{% include "parts/idiomatic_gemm.cu" %}
//{% endif %}

}  // namespace {{ name }}

//{% include "parts/idiomatic_entry.cu" %}
