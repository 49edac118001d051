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

//{% if store == "smem" %}
//{% include "parts/store_smem.cu" %}
//{% else %}
//{% include "parts/store_direct.cu" %}
//{% endif %}

}  // namespace {{ name }}

//{% include "parts/entry.cu" %}
