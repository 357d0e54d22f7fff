#pragma once
// What libdcmi.so of Huawei's driver exports, as far as it is asked here. Everything takes a card
// and a chip of it. 0: it succeeded.
//
// Source: dcmi_interface_api.h of github.com/Ascend/mind-cluster
// (component/ascend-common/devmanager/ dcmi, Apache-2.0), and its callers there.

#include <cstddef>

extern "C" {

struct dcmi_chip_info_v2 {
  unsigned char chip_type[32];
  unsigned char chip_name[32];
  unsigned char chip_ver[32];
  unsigned aicore_cnt;
  unsigned char npu_name[32];
};
static_assert(sizeof(dcmi_chip_info_v2) == 132);

struct dcmi_pcie_info_all {
  unsigned venderid;
  unsigned subvenderid;
  unsigned deviceid;
  unsigned subdeviceid;
  int domain;
  unsigned bdf_busid;
  unsigned bdf_deviceid;
  unsigned bdf_funcid;
  unsigned char reserve[32];
};
static_assert(sizeof(dcmi_pcie_info_all) == 64);

struct dcmi_die_id {
  unsigned soc_die[5];
};
static_assert(sizeof(dcmi_die_id) == 20);

struct dcmi_hbm_info {
  unsigned long long memory_size;  // MB
  unsigned freq;
  unsigned long long memory_usage;  // MB
  int temp;
  unsigned bandwith_util_rate;
};
static_assert(sizeof(dcmi_hbm_info) == 32 && offsetof(dcmi_hbm_info, memory_usage) == 16);

struct dcmi_get_memory_info_stru {
  unsigned long long memory_size;  // MB
  unsigned long long memory_available;
  unsigned freq;
  unsigned long hugepagesize;
  unsigned long hugepages_total;
  unsigned long hugepages_free;
  unsigned utiliza;
  unsigned char reserve[60];
};
static_assert(sizeof(dcmi_get_memory_info_stru) == 112);

struct dcmi_ecc_info {
  int enable_flag;
  unsigned single_bit_error_cnt;
  unsigned double_bit_error_cnt;
  unsigned total_single_bit_error_cnt;
  unsigned total_double_bit_error_cnt;
  unsigned single_bit_isolated_pages_cnt;
  unsigned double_bit_isolated_pages_cnt;
  unsigned single_bit_next_isolated_pages_cnt;
  unsigned double_bit_next_isolated_pages_cnt;
};
static_assert(sizeof(dcmi_ecc_info) == 36);

struct dcmi_proc_mem_info {
  int proc_id;
  unsigned long proc_mem_usage;  // bytes
};
static_assert(sizeof(dcmi_proc_mem_info) == 16);

struct dcmi_elabel_info {
  char product_name[256];
  char model[256];
  char manufacturer[256];
  char manufacturer_date[256];
  char serial_number[256];
};
static_assert(sizeof(dcmi_elabel_info) == 1280);

}  // extern "C"

namespace berth::dcmi {

enum : int {
  succeeded = 0,
  not_supported = -8255,
  // These tell of a chip that has gone. mind-cluster's device plug-in takes "not ready" for a card
  // that dropped off (devmanager/dcmi, DcGetDeviceAllErrorCode).
  invalid_device = -8007,
  no_such_device = -8008,
  not_ready = -8012,
  die_of_the_chip = 1,  // VDIE
  unit_is_npu = 0,
  memory_hbm = 2,     // of errors
  load_of_cores = 2,  // of utilisation: AI cores
  clock_now = 7,
  clock_max = 9,
  health_critical = 3,
};

#define BERTH_DCMI_FUNCTIONS(X)                                                       \
  X(dcmi_init, ())                                                                    \
  X(dcmi_get_card_list, (int* count, int* cards, int most))                           \
  X(dcmi_get_device_num_in_card, (int card, int* count))                              \
  X(dcmi_get_device_type, (int card, int chip, int* type))                            \
  X(dcmi_get_device_logic_id, (int* logic, int card, int chip))                       \
  X(dcmi_get_device_phyid_from_logicid, (unsigned logic, unsigned* physical))         \
  X(dcmi_get_device_chip_info_v2, (int card, int chip, dcmi_chip_info_v2*))           \
  X(dcmi_get_device_pcie_info_v2, (int card, int chip, dcmi_pcie_info_all*))          \
  X(dcmi_get_device_die_v2, (int card, int chip, int type, dcmi_die_id*))             \
  X(dcmi_get_card_elabel_v2, (int card, dcmi_elabel_info*))                           \
  X(dcmi_get_device_hbm_info, (int card, int chip, dcmi_hbm_info*))                   \
  X(dcmi_get_device_memory_info_v3, (int card, int chip, dcmi_get_memory_info_stru*)) \
  X(dcmi_get_device_utilization_rate, (int card, int chip, int type, unsigned*))      \
  X(dcmi_get_device_power_info, (int card, int chip, int* tenths_of_a_watt))          \
  X(dcmi_get_device_temperature, (int card, int chip, int* celsius))                  \
  X(dcmi_get_device_frequency, (int card, int chip, int type, unsigned* mhz))         \
  X(dcmi_get_device_health, (int card, int chip, unsigned* health))                   \
  X(dcmi_get_device_ecc_info, (int card, int chip, int type, dcmi_ecc_info*))         \
  X(dcmi_get_device_resource_info, (int card, int chip, dcmi_proc_mem_info*, int* count))

/// Null: this library does not export it.
struct Api {
#define BERTH_DCMI_MEMBER(name, parameters) int(*name) parameters = nullptr;
  BERTH_DCMI_FUNCTIONS(BERTH_DCMI_MEMBER)
#undef BERTH_DCMI_MEMBER
};

}  // namespace berth::dcmi
