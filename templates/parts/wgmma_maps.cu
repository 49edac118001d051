
// What the bulk copies need to know of the matrices; the launcher encodes them.
struct CutegenTensorMaps {
  CUtensorMap a, b;
//{% if store == "tma" %}
  CUtensorMap d[{{ out.maps }}];  // boxes of 128, 64, 32, 16 bytes as far as the tile needs them
//{% endif %}
//{% if workspace %}
  unsigned char* sums;  // slots in global memory for sums of CTAs
  uint32_t* flags;      // one for each warp of a slot, 0 before and after a launch
//{% endif %}
};
