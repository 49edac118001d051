//{% include "parts/provenance.cu" %}
//{% include "parts/includes.cu" %}
//{% include "parts/params.cu" %}
//{% include "parts/wgmma_maps.cu" %}

namespace {{ name }} {

using namespace cute;

//{% include "parts/wgmma_config.cu" %}

//{% include "parts/common.cu" %}

//{% if swap_ab %}
//{% include "parts/wgmma_swap.cu" %}

//{% endif %}
//{% include "parts/wgmma_ring.cu" %}

//{% if stream_k %}
//{% include "parts/wgmma_units.cu" %}

//{% include "parts/wgmma_units_stream.cu" %}
//{% elif shares > 1 %}
//{% include "parts/wgmma_units.cu" %}

//{% include "parts/wgmma_units_split.cu" %}
//{% else %}
//{% include "parts/wgmma_k_tiles.cu" %}
//{% endif %}

//{% if pdl %}
//{% include "parts/wgmma_pdl.cu" %}
//{% else %}
//{% include "parts/wgmma_in_order.cu" %}
//{% endif %}

//{% include "parts/wgmma_load.cu" %}

//{% if workspace %}
//{% include "parts/wgmma_producer_units.cu" %}
//{% else %}
//{% include "parts/wgmma_producer.cu" %}
//{% endif %}

//{% include "parts/wgmma_descriptor.cu" %}

//{% if a_in_registers %}
//{% include "parts/wgmma_registers.cu" %}
//{% else %}
//{% include "parts/wgmma_stage.cu" %}
//{% endif %}

//{% include "parts/wgmma_fence.cu" %}

//{% if a_in_registers %}
//{% include "parts/wgmma_mainloop_registers.cu" %}
//{% elif sum_sets %}
//{% include "parts/wgmma_mainloop_promoted.cu" %}
//{% else %}
//{% include "parts/wgmma_mainloop.cu" %}
//{% endif %}

//{% include "parts/wgmma_finish.cu" %}

//{% include "parts/epilogue.cu" %}

//{% if vectors %}
//{% include "parts/wgmma_vectors.cu" %}

namespace plain {

//{% endif %}
//{% if store == "tma" and out.d_n_major %}
//{% include "parts/wgmma_store_tma.cu" %}
//{% elif store == "tma" %}
//{% include "parts/wgmma_store_tma_m.cu" %}
//{% else %}
//{% include "parts/store_direct.cu" %}

//{% include "parts/wgmma_store_direct.cu" %}
//{% endif %}
//{% if vectors %}

}  // namespace plain

//{% include "parts/wgmma_store_vectors.cu" %}
//{% endif %}

//{% if workspace %}
//{% include "parts/wgmma_sums.cu" %}
//{% elif split_k > 1 %}
//{% include "parts/wgmma_split.cu" %}
//{% else %}
//{% include "parts/wgmma_whole.cu" %}
//{% endif %}

//{% include "parts/wgmma_turn.cu" %}

//{% if workspace %}
//{% include "parts/wgmma_consumer_units.cu" %}
//{% else %}
//{% include "parts/wgmma_consumer.cu" %}
//{% endif %}

}  // namespace {{ name }}

//{% include "parts/wgmma_entry.cu" %}
