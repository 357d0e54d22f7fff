// One look: the snapshot's JSON as the structs and columns of berth.h.

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <string_view>

#include "base/text.h"
#include "lib/objects.h"
#include "snapshot/device_kind_rows.h"

namespace berth::lib {

namespace {

const Json& list_in(const Json& object, const char* key) {
  static const Json& none = *new Json(Json::array());  // never taken down
  const auto found = object.find(key);
  return found != object.end() && found->is_array() ? *found : none;
}

const char* text_in(const Json& object, const char* key) {
  const auto found = object.find(key);
  const bool is_text = found != object.end() && found->is_string();
  return is_text ? found->get_ref<const std::string&>().c_str() : "";
}

/// Why a reading of that key is null.
berth_absent why_absent(const Json& object, const char* key) {
  const auto why = object.find("why");
  const std::string_view word = why == object.end() ? "" : text_in(*why, key);
  if (word == "unsupported") return BERTH_ABSENT_UNSUPPORTED;
  if (word == "no permission") return BERTH_ABSENT_NO_PERMISSION;
  if (word == "failed") return BERTH_ABSENT_FAILED;
  return BERTH_ABSENT_NOT_SAMPLED;
}

const Json* number_in(const Json& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_number() ? &*found : nullptr;
}

berth_u64 size_in(const Json& object, const char* key) {
  const Json* number = number_in(object, key);
  if (number == nullptr || !number->is_number_unsigned()) {
    return {.value = 0, .absent = why_absent(object, key), .zero = 0};
  }
  return {.value = number->get<std::uint64_t>(), .absent = BERTH_PRESENT, .zero = 0};
}

berth_f64 ratio_in(const Json& object, const char* key) {
  const Json* number = number_in(object, key);
  if (number == nullptr) return {.value = 0, .absent = why_absent(object, key), .zero = 0};
  return {.value = number->get<double>(), .absent = BERTH_PRESENT, .zero = 0};
}

berth_state state_in(const Json& device) {
  constexpr auto words =
      std::to_array<std::string_view>({"free", "reserved", "leased", "busy", "held", "unknown",
                                       "failed", "divided", "lost", "unusable"});
  const std::string_view word = text_in(device, "state");
  const auto found = std::find(words.begin(), words.end(), word);
  // A newer berth's word: nobody is to take it for free.
  return found == words.end() ? BERTH_UNKNOWN : static_cast<berth_state>(found - words.begin());
}

/// -1: hidden; -2: not known.
int ordinal_of(const char* id, const Json& visible) {
  if (!visible.is_object()) return -2;
  const auto found = visible.find(id);
  if (found == visible.end()) return -1;
  return found->is_number_unsigned() ? static_cast<int>(found->get<std::uint32_t>()) : -2;
}

const Json* process_of(const Json& snapshot, std::int64_t pid) {
  for (const Json& process : list_in(snapshot, "processes")) {
    if (process.value("pid", std::int64_t{0}) == pid) return &process;
  }
  return nullptr;
}

bool descends_from(const Json& process, std::int64_t pid) {
  if (process.value("pid", std::int64_t{0}) == pid) return true;
  const Json& ancestors = list_in(process, "ancestors");
  return std::find(ancestors.begin(), ancestors.end(), pid) != ancestors.end();
}

/// The run under whose lease it is, below its keeper or its job. As snapshot/process_claims.h
/// answers, which is not in the library; a look need not tell of containers.
const char* run_of(const Json& snapshot, const Json& process) {
  const auto is_below = [&](const Json& lease, const char* head) {
    const auto found = lease.find(head);
    const bool is_told = found != lease.end() && found->is_object();
    const std::int64_t pid = is_told ? found->value("pid", std::int64_t{0}) : 0;
    return pid > 0 && descends_from(process, pid);
  };
  for (const Json& lease : list_in(snapshot, "leases")) {
    if (is_below(lease, "keeper") || is_below(lease, "job")) return text_in(lease, "run");
  }
  return "";
}

}  // namespace

/// In the library's own table: a maker that it does not know yet has no word.
static const char* torch_type_of(std::string_view kind) {
  const auto known = std::ranges::find(kind_rows::all, kind, &DeviceKindFacts::name);
  return known == kind_rows::all.end() ? "" : known->torch.device_type.data();
}

berth_look look_in(Message& message) {
  return {.seen = message.look ? std::move(message.look) : ParsedLook::read("{}"),
          .visible = std::move(message.json["visible"]),
          .host = ::getpid()};
}

Outcome device_at(const berth_look& look, std::size_t at, berth_device* device,
                  std::optional<int> ordinal) {
  const Json& devices = list_in(look.snapshot(), "devices");
  if (at >= devices.size()) return Failure(BERTH_E_INVALID, "there is no such device in the look");
  const Json& one = devices[at];
  const char* failed = text_in(one, "failed_because");
  const std::string_view compute = text_in(one, "compute_capability");
  const std::size_t dot = compute.find('.');
  berth_device known{
      .struct_size = sizeof(berth_device),
      .index = one.value("index", Json()).is_number() ? one["index"].get<int>() : -1,
      .state = state_in(one),
      .id = text_in(one, "id"),
      .name = text_in(one, "name"),
      .pci = text_in(one, "pci_address"),
      .state_why = *failed != '\0' ? failed : text_in(one, "unusable_because"),
      .users = text_in(one, "users"),
      .memory_total_bytes = size_in(one, "memory_total_bytes"),
      .memory_used_bytes = size_in(one, "memory_used_bytes"),
      .memory_free_bytes = size_in(one, "memory_free_bytes"),
      .power_draw_milliwatts = size_in(one, "power_draw_milliwatts"),
      .temperature_celsius = size_in(one, "temperature_celsius"),
      .utilization_percent = ratio_in(one, "utilization_gpu_percent"),
      .compute_major = 0,
      .compute_minor = 0,
      .cuda_cores = size_in(one, "cuda_cores").value,
      .visible_ordinal = ordinal ? *ordinal : ordinal_of(text_in(one, "id"), look.visible),
      .memory_used_is_bound = one.value("memory_used_is_bound", Json()) == true,
      .kind = text_in(one, "kind"),
      .torch_type = torch_type_of(text_in(one, "kind"))};
  if (dot != std::string_view::npos) {
    known.compute_major =
        static_cast<std::int32_t>(parse_unsigned(compute.substr(0, dot)).value_or(0));
    known.compute_minor =
        static_cast<std::int32_t>(parse_unsigned(compute.substr(dot + 1)).value_or(0));
  }
  if (!write_struct(known, device)) {
    return Failure(BERTH_E_INVALID, "the device's struct_size is not set");
  }
  return std::nullopt;
}

namespace {

Outcome process_at(const berth_look& look, std::size_t at, berth_process* process) {
  const Json& all = list_in(look.seen->processes(), "gpu_processes");
  if (at >= all.size()) return Failure(BERTH_E_INVALID, "there is no such process in the look");
  const Json& one = all[at];
  const std::int64_t pid = one.value("pid", std::int64_t{0});
  static const Json& unknown = *new Json(Json::object());
  const Json* found = process_of(look.seen->processes(), pid);
  const Json& facts = found == nullptr ? unknown : *found;
  const Json& devices = list_in(look.snapshot(), "devices");
  const auto device = std::find_if(devices.begin(), devices.end(), [&](const Json& candidate) {
    return std::string_view(text_in(candidate, "id")) == text_in(one, "device");
  });
  const berth_process known{
      .struct_size = sizeof(berth_process),
      .device = device == devices.end() ? -1 : static_cast<int>(device - devices.begin()),
      .pid = static_cast<std::int32_t>(pid),
      .user = text_in(facts, "user"),
      .command = text_in(facts, "joined_command"),
      .run = run_of(look.seen->processes(), facts),
      .container = text_in(facts, "container"),
      .memory_bytes = size_in(one, "memory_used_bytes"),
      .mine = pid == look.host || descends_from(facts, look.host) ? 1 : 0};
  if (!write_struct(known, process)) {
    return Failure(BERTH_E_INVALID, "the process's struct_size is not set");
  }
  return std::nullopt;
}

Outcome column(const berth_look& look, const char* key, double* values, std::uint8_t* absent,
               std::size_t room) {
  if (key == nullptr || values == nullptr || absent == nullptr) {
    return Failure(BERTH_E_INVALID, "a column wants a key and room for each device");
  }
  const Json& devices =
      list_in(is_known_member(key) ? look.snapshot() : look.seen->whole(), "devices");
  if (room < devices.size()) {
    return Failure(BERTH_E_INVALID, "a column wants a key and room for each device");
  }
  const bool is_field = std::any_of(devices.begin(), devices.end(),
                                    [&](const Json& one) { return one.contains(key); });
  if (!is_field && !devices.empty()) {
    return Failure(BERTH_E_INVALID, std::string("there is no field \"") + key +
                                        "\" in this look: `berth --fields` lists them, and a "
                                        "deeper look has more");
  }
  for (std::size_t at = 0; at < devices.size(); ++at) {
    const auto cell = devices[at].find(key);
    const bool is_flag = cell != devices[at].end() && cell->is_boolean();
    const Json* number = number_in(devices[at], key);
    if (cell != devices[at].end() && !cell->is_null() && number == nullptr && !is_flag) {
      return Failure(BERTH_E_INVALID, std::string("the field \"") + key + "\" is no number");
    }
    values[at] = is_flag ? (cell->get<bool>() ? 1 : 0) : number ? number->get<double>() : 0;
    const bool is_there = is_flag || number != nullptr;
    absent[at] = static_cast<std::uint8_t>(is_there ? BERTH_PRESENT : why_absent(devices[at], key));
  }
  return std::nullopt;
}

}  // namespace

}  // namespace berth::lib

using berth::lib::at_border;

extern "C" {

size_t berth_look_devices(const berth_look* look) {
  return look == nullptr ? 0 : berth::lib::list_in(look->snapshot(), "devices").size();
}

berth_code berth_look_device(const berth_look* look, size_t at, berth_device* device) {
  if (look == nullptr) return BERTH_E_INVALID;
  return at_border(nullptr, [&] { return berth::lib::device_at(*look, at, device); });
}

size_t berth_look_processes(const berth_look* look) {
  size_t count = 0;
  if (look == nullptr) return count;
  (void)at_border(nullptr, [&]() -> berth::lib::Outcome {
    count = berth::lib::list_in(look->seen->processes(), "gpu_processes").size();
    return std::nullopt;
  });
  return count;
}

berth_code berth_look_process(const berth_look* look, size_t at, berth_process* process) {
  if (look == nullptr) return BERTH_E_INVALID;
  return at_border(nullptr, [&] { return berth::lib::process_at(*look, at, process); });
}

berth_code berth_look_column(const berth_look* look, const char* key, double* values,
                             uint8_t* absent, size_t room, berth_error** error) {
  return at_border(error, [&]() -> berth::lib::Outcome {
    if (look == nullptr) return berth::lib::Failure(BERTH_E_INVALID, "there is no look");
    return berth::lib::column(*look, key, values, absent, room);
  });
}

int64_t berth_look_taken_unix_ms(const berth_look* look) {
  if (look == nullptr) return 0;
  const auto* taken = berth::lib::number_in(look->snapshot(), "taken_unix_ms");
  return taken == nullptr ? 0 : taken->get<int64_t>();
}

const char* berth_look_json(const berth_look* look) {
  return look == nullptr ? "" : look->seen->text().c_str();
}

void berth_look_free(berth_look* look) { delete look; }
}
