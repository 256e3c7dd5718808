/* device_names.c: see device_names.h. */
#include "device_names.h"

#include <stdio.h>

/* c10/core/DeviceType.h: by its number the name that PyTorch shows, and our kind. */
static const struct {
  const char *name, *kind;
} device_types[] = {
    [0] = {"cpu", "cpu"},  [1] = {"cuda", "gpu"}, [6] = {"cuda", "gpu"}, [9] = {"xla", "tpu"},
    [12] = {"xpu", "gpu"}, [13] = {"mps", "gpu"}, [17] = {"mtia", NULL}, [20] = {"privateuseone", NULL},
};

int64_t device_row_torch(struct device_rows *devices, struct torch_device device) {
  size_t type = (size_t)(uint8_t)device.type, count = sizeof device_types / sizeof device_types[0];
  const char *type_name = type < count ? device_types[type].name : NULL;
  const char *kind = type < count ? device_types[type].kind : NULL;
  char name[32];
  if (!type_name) snprintf(name, sizeof name, "device type %zu:%d", type, device.index);
  else if (device.type == DEVICE_TYPE_CPU) snprintf(name, sizeof name, "%s", type_name);
  else snprintf(name, sizeof name, "%s:%d", type_name, device.index);
  return device_row(devices, name, kind, device.index < 0 ? 0 : device.index);
}
