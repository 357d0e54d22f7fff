#include "probe/sim/scenario.h"

#include <array>
#include <exception>
#include <new>
#include <optional>
#include <utility>

#include "base/fd.h"
#include "base/gzip.h"
#include "base/json.h"
#include "base/memory_limit.h"
#include "base/text.h"
#include "probe/sources.h"
#include "snapshot/json.h"

namespace berth::sim {

namespace {

/// A mistake in the file, thrown inside this file only and turned into an Error at its border.
struct Mistake {
  Sentence what;
};

/// Devices that name a model become complete: what the model says under what they say themselves.
void fill_in_models(Json& root) {
  const auto devices = root.find("devices");
  if (devices == root.end() || !devices->is_array()) return;
  for (Json& device : *devices) {
    if (!device.is_object() || !device.contains("model")) continue;
    const Json& model = device["model"];
    const auto models = root.find("models");
    if (!model.is_string() || models == root.end() || !models->is_object() ||
        !models->contains(model.get<std::string>())) {
      throw Mistake{sentence("a device wants the model {}, which \"models\" does not have",
                             json_line(model))};
    }
    Json complete = (*models)[model.get<std::string>()];
    if (!complete.is_object())
      throw Mistake{sentence("the model {} is not an object", json_line(model))};
    complete.merge_patch(device);
    device = std::move(complete);
  }
}

double number(const Json& how, const char* key, std::optional<double> otherwise,
              const Sentence& where) {
  const auto found = how.find(key);
  if (found == how.end() && otherwise) return *otherwise;
  if (found == how.end() || !found->is_number()) {
    throw Mistake{sentence("{}: \"{}\" is missing or not a number", where, key)};
  }
  return found->get<double>();
}

double positive(const Json& how, const char* key, std::optional<double> otherwise,
                const Sentence& where) {
  const double value = number(how, key, otherwise, where);
  if (!(value > 0)) throw Mistake{sentence("{}: \"{}\" must be more than 0", where, key)};
  return value;
}

Wave wave_from(const Json& how, const Sentence& where) {
  const Wave wave{.low = number(how, "low", std::nullopt, where),
                  .high = number(how, "high", std::nullopt, where),
                  .period_s = positive(how, "period_s", 60, where),
                  .phase = number(how, "phase", 0, where)};
  if (wave.low > wave.high) throw Mistake{sentence("{}: \"low\" is more than \"high\"", where)};
  return wave;
}

How how_from(const Json& move, const Sentence& where) {
  if (const auto how = move.find("wave"); how != move.end()) return wave_from(*how, where);
  if (const auto how = move.find("noise"); how != move.end()) {
    return Noise{.amplitude = number(*how, "amplitude", std::nullopt, where),
                 .every_s = positive(*how, "every_s", 1, where)};
  }
  if (const auto how = move.find("rate"); how != move.end()) {
    return Rate{.per_second = number(*how, "per_second", std::nullopt, where)};
  }
  if (const auto how = move.find("load"); how != move.end()) return Load{wave_from(*how, where)};
  throw Mistake{sentence("{}: one of \"wave\", \"noise\", \"rate\", \"load\" is wanted", where)};
}

std::vector<std::size_t> devices_from(const Json& move, const Snapshot& base,
                                      const Sentence& where) {
  const auto named = move.find("device");
  const Json which = named == move.end() ? Json("all") : *named;
  std::vector<std::size_t> positions;
  for (std::size_t i = 0; i < base.devices.size(); ++i) {
    const bool chosen = which == "all" || which == base.devices[i].id.text() ||
                        (which.is_number_unsigned() && which.get<std::size_t>() == i);
    if (chosen) positions.push_back(i);
  }
  if (positions.empty())
    throw Mistake{sentence("{}: there is no device {}", where, json_line(which))};
  return positions;
}

Move move_from(const Json& json, const Snapshot& base, const Sentence& where) {
  if (!json.is_object()) throw Mistake{sentence("{} is not an object", where)};
  Move move{.devices = devices_from(json, base, where), .how = how_from(json, where)};
  if (std::holds_alternative<Load>(move.how)) return move;
  const auto field = json.find("field");
  if (field == json.end() || !field->is_string()) {
    throw Mistake{sentence("{}: \"field\" is missing", where)};
  }
  move.field = find_field(field->get<std::string>());
  if (move.field == nullptr || move.field->write == nullptr || move.field->unit == Unit::none) {
    throw Mistake{sentence("{}: there is no field {} that can move", where, field->dump())};
  }
  return move;
}

Life life_from(const Json& life, std::uint64_t seed, const Snapshot& base) {
  const auto people = life.is_object() ? life.find("people") : life.end();
  std::vector<std::string> names;
  if (life.is_object() && people != life.end() && people->is_array()) {
    for (const Json& name : *people) {
      if (name.is_string()) names.push_back(name.get<std::string>());
    }
  }
  if (names.empty()) throw Mistake{sentence("\"life\" names no people")};
  return life_of(seed, base.devices.size(), std::move(names));
}

Scenario scenario_from(Json root, std::string name) {
  if (!root.is_object()) throw Mistake{sentence("it is not an object")};
  fill_in_models(root);
  auto base = snapshot_from_json(json_line(root));
  if (!base) throw Mistake{base.error().said()};
  Scenario scenario{.name = std::move(name), .base = std::move(*base)};
  scenario.base.simulated = scenario.name;
  scenario.about = root.contains("about") && root["about"].is_string()
                       ? root["about"].get<std::string>()
                       : std::string();
  if (root.contains("seed") && root["seed"].is_number_unsigned()) {
    scenario.seed = root["seed"].get<std::uint64_t>();
  }
  if (const auto life = root.find("life"); life != root.end()) {
    scenario.life = life_from(*life, scenario.seed, scenario.base);
  }
  const auto moves = root.find("moves");
  if (moves == root.end() || moves->is_null()) return scenario;
  if (!moves->is_array()) throw Mistake{sentence("\"moves\" is not a list")};
  for (std::size_t i = 0; i < moves->size(); ++i) {
    scenario.moves.push_back(move_from((*moves)[i], scenario.base, sentence("move {}", i)));
  }
  return scenario;
}

std::string known_names() { return joined(builtin_scenarios(), ", ", &ScenarioName::name); }

}  // namespace

Result<Scenario> scenario_from_json(std::string_view text, std::string name) {
  try {
    auto root = parse_json(text);
    if (!root) return std::unexpected(root.error());
    return scenario_from(std::move(*root), std::move(name));
  } catch (const Mistake& mistake) {
    return fail(ErrorCode::invalid, mistake.what);
  } catch (const std::bad_alloc&) {
    return fail(ErrorCode::io, out_of_memory());
  } catch (const std::exception& error) {  // nlohmann's: says line and column
    return fail(ErrorCode::invalid, "not valid JSON: {}", error.what());
  }
}

Result<Scenario> load_scenario(const std::string& name_or_path) {
  if (const auto text = builtin_scenario(name_or_path)) {
    return scenario_from_json(*text, name_or_path);
  }
  const auto text = read_file(name_or_path, 64 << 20);
  if (!text) {
    return fail(
        text.error().code() == ErrorCode::not_found ? ErrorCode::invalid : text.error().code(),
        "\"{}\" is neither a built-in scenario nor a scenario file ({}); built in are: {}",
        name_or_path, text.error().said(), known_names());
  }
  const std::size_t slash = name_or_path.rfind('/');
  std::string name = slash == std::string::npos ? name_or_path : name_or_path.substr(slash + 1);
  if (name.ends_with(".json")) name.resize(name.size() - 5);
  auto scenario = scenario_from_json(*text, name);
  if (!scenario) {
    return std::unexpected(
        std::move(scenario).error().because(sentence("reading the scenario {}", name_or_path)));
  }
  return scenario;
}

}  // namespace berth::sim

// Placed here by scenarios.S.
#define BERTH_SCENARIO_SYMBOL(symbol)          \
  extern const char berth_scenario_##symbol[]; \
  extern const char berth_scenario_##symbol##_end[];
extern "C" {
BERTH_SCENARIO_SYMBOL(server_8xh100)
BERTH_SCENARIO_SYMBOL(month_8xh100)
BERTH_SCENARIO_SYMBOL(lab_4)
BERTH_SCENARIO_SYMBOL(desktop)
BERTH_SCENARIO_SYMBOL(h100_mig)
BERTH_SCENARIO_SYMBOL(no_history)
BERTH_SCENARIO_SYMBOL(faults)
BERTH_SCENARIO_SYMBOL(driver_mismatch)
BERTH_SCENARIO_SYMBOL(mi300x_8)
BERTH_SCENARIO_SYMBOL(mi300x_cpx)
BERTH_SCENARIO_SYMBOL(arc_mixed)
BERTH_SCENARIO_SYMBOL(ascend_910b_8)
}
#undef BERTH_SCENARIO_SYMBOL

namespace berth {

namespace {

struct Builtin {
  ScenarioName listed;
  const char* begin = nullptr;
  const char* end = nullptr;
};

// The first is the default of `berth demo`.
constexpr std::array<Builtin, 12> builtins = {{
    {{"server-8xh100", "An 8xH100 server: three cards in use, five free."},
     berth_scenario_server_8xh100,
     berth_scenario_server_8xh100_end},
    {{"month-8xh100", "An 8xH100 server in use, with four weeks of history."},
     berth_scenario_month_8xh100,
     berth_scenario_month_8xh100_end},
    {{"lab-4", "A lab box of four different cards, one of them busy."},
     berth_scenario_lab_4,
     berth_scenario_lab_4_end},
    {{"desktop", "One card that draws a desktop; nobody computes."},
     berth_scenario_desktop,
     berth_scenario_desktop_end},
    {{"h100-mig", "One H100 divided by MIG into four instances."},
     berth_scenario_h100_mig,
     berth_scenario_h100_mig_end},
    {{"no-history", "Two cards without persistence mode and utilisation history."},
     berth_scenario_no_history,
     berth_scenario_no_history_end},
    {{"faults", "A lost GPU, memory errors, a hot card, memory nobody explains."},
     berth_scenario_faults,
     berth_scenario_faults_end},
    {{"driver-mismatch", "Driver and library of different versions: only PCI speaks."},
     berth_scenario_driver_mismatch,
     berth_scenario_driver_mismatch_end},
    {{"mi300x-8", "Eight MI300X of AMD's: three in use, five free."},
     berth_scenario_mi300x_8,
     berth_scenario_mi300x_8_end},
    {{"mi300x-cpx", "Two MI300X divided into sixteen partitions, one in use."},
     berth_scenario_mi300x_cpx,
     berth_scenario_mi300x_cpx_end},
    {{"arc-mixed", "A laptop with devices of NVIDIA, AMD and Intel."},
     berth_scenario_arc_mixed,
     berth_scenario_arc_mixed_end},
    {{"ascend-910b-8", "Eight Ascend 910B2 of Huawei's: two in use, six free."},
     berth_scenario_ascend_910b_8,
     berth_scenario_ascend_910b_8_end},
}};

}  // namespace

namespace sim {

std::optional<std::string> builtin_scenario(std::string_view name) {
  for (const Builtin& builtin : builtins) {
    if (builtin.listed.name == name) {
      constexpr std::size_t most_bytes = 1 << 20;
      return gunzipped({builtin.begin, builtin.end}, most_bytes).value_or("");
    }
  }
  return std::nullopt;
}

}  // namespace sim

std::vector<ScenarioName> builtin_scenarios() {
  std::vector<ScenarioName> names;
  for (const Builtin& builtin : builtins) names.push_back(builtin.listed);
  return names;
}

}  // namespace berth
