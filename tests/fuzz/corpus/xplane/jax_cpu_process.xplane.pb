
1/host:metadata*jax_version2
*0.10.2
Ô	/host:CPUpythonè"€”ëÜEtf_XLAPjRtCpuClient/-12è"%€Â×/"*
all-reduce"*m" €"PjitFunction(f)"
all-reduce*
hlo_op*
hlo_module*device_ordinal"host-a