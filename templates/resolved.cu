//{% include "parts/provenance.cu" %}
//{% include "parts/includes.cu" %}
//{% include "parts/params.cu" %}

namespace {{ name }} {

using namespace cute;

//{% include "parts/config.cu" %}

//{% include "parts/common.cu" %}

//{% include "parts/device.cu" %}

//{% if mainloop == "direct" %}
//{% include "parts/mainloop_direct.cu" %}
//{% else %}
//{% include "parts/global_to_shared.cu" %}

//{% include "parts/mainloop_multistage.cu" %}
//{% endif %}

//{% include "parts/epilogue.cu" %}

//{% if vectors %}
//{% include "parts/vectors.cu" %}

namespace plain {

//{% endif %}
//{% if store == "smem" %}
//{% include "parts/store_smem.cu" %}
//{% else %}
//{% include "parts/store_direct.cu" %}
//{% endif %}
//{% if vectors %}

}  // namespace plain

//{% include "parts/store_vectors.cu" %}
//{% endif %}

}  // namespace {{ name }}

//{% include "parts/entry.cu" %}
