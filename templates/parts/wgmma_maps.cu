
// What the bulk copies need to know of the matrices; the launcher encodes them.
struct CutegenTensorMaps {
  CUtensorMap a, b;
//{% if store == "tma" %}
  CUtensorMap d[{{ out.maps }}];  // boxes of 128, 64, 32, 16 bytes as far as the tile needs them
//{% endif %}
};
