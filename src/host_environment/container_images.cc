// What the engines' own programs say: their versions, what their images set, which containers have
// the label of a run.

#include <algorithm>
#include <utility>

#include "base/json.h"
#include "base/process.h"
#include "base/text.h"
#include "host_environment/environment.h"
#include "host_environment/machine_side.h"

namespace berth {

namespace {

constexpr Duration engines_patience = std::chrono::seconds(5);
constexpr std::size_t most_images = 64;

class EngineQuestion {
 public:
  EngineQuestion(std::string program, const std::vector<std::string>& environment, Clock& clock)
      : program_(std::move(program)), environment_(environment), clock_(clock) {}

  /// Empty: it did not answer, or said nothing.
  [[nodiscard]] std::string printed(std::vector<std::string> words) const {
    words.insert(words.begin(), program_);
    const auto answer = answer_of(words, environment_, search_path_in(environment_), clock_,
                                  engines_patience, std::size_t{8} << 20);
    const bool is_good = answer && answer->exit && *answer->exit == Exit{} && !answer->is_cut;
    return is_good ? answer->out : std::string();
  }

 private:
  std::string program_;
  const std::vector<std::string>& environment_;
  Clock& clock_;
};

/// "4.3.1" of "podman version 4.3.1" and "Docker version 20.10.24+dfsg1, build 297e128".
std::string version_in(std::string_view said) {
  const std::size_t start = said.find_first_of("0123456789");
  if (start == said.npos) return {};
  const std::string_view rest = said.substr(start);
  return std::string(rest.substr(0, rest.find_first_not_of("0123456789.")));
}

std::optional<ContainerTools::Image> image_that_sets(const ForeignJson& image,
                                                     const std::string& engine) {
  constexpr std::string_view wanted = "CUDA_VISIBLE_DEVICES=";
  if (!image.is_object()) return std::nullopt;
  const auto config = image.value("Config", ForeignJson::object());
  if (!config.is_object() || !config.contains("Env") || !config["Env"].is_array()) {
    return std::nullopt;
  }
  for (const auto& variable : config["Env"]) {
    if (!variable.is_string()) continue;
    const auto text = variable.get<std::string>();
    if (!text.starts_with(wanted)) continue;
    const auto id = image.find("Id");
    const auto tags = image.find("RepoTags");
    const bool has_tag =
        tags != image.end() && tags->is_array() && !tags->empty() && tags->front().is_string();
    std::string name = id != image.end() && id->is_string() ? id->get<std::string>() : "";
    if (has_tag) name = tags->front().get<std::string>();
    return ContainerTools::Image{engine, std::move(name), text.substr(wanted.size())};
  }
  return std::nullopt;
}

void ask_for_images(const EngineQuestion& engine, const std::string& name, ContainerTools& tools) {
  const std::string listed = engine.printed({"image", "ls", "-q"});
  std::vector<std::string> words = {"image", "inspect"};
  for (const std::string_view line : split(listed, '\n')) {
    const std::string id(trimmed(line));
    const bool is_known = std::ranges::find(words, id) != words.end();
    if (!id.empty() && !is_known && words.size() < most_images + 2) words.push_back(id);
  }
  if (words.size() == 2) return;
  const auto images = parse_foreign_json(engine.printed(words));
  if (!images.is_array()) return;
  for (const auto& image : images) {
    if (auto found = image_that_sets(image, name)) tools.images.push_back(*std::move(found));
  }
}

/// podman 4.3 prints no single label in a list.
void ask_for_labelled(const EngineQuestion& engine, const std::string& name,
                      ContainerTools& tools) {
  const std::string listed =
      engine.printed({"ps", "--quiet", "--no-trunc", "--filter", "label=berth.run"});
  std::vector<std::string> words = {"container", "inspect"};
  for (const std::string_view line : split(listed, '\n')) {
    if (!trimmed(line).empty()) words.emplace_back(trimmed(line));
  }
  if (words.size() == 2) return;
  const auto containers = parse_foreign_json(engine.printed(words));
  if (!containers.is_array()) return;
  const ForeignJson::json_pointer id("/Id");
  const ForeignJson::json_pointer label("/Config/Labels/berth.run");
  for (const auto& one : containers) {
    if (!one.contains(id) || !one[id].is_string()) continue;
    if (!one.contains(label) || !one[label].is_string()) continue;
    tools.labelled.push_back({name, one[id].get<std::string>(), one[label].get<std::string>()});
  }
}

}  // namespace

void ask_engines(const std::vector<std::string>& environment, ContainerTools& tools, Clock& clock) {
  for (const char* name : {"docker", "podman", "nerdctl"}) {
    const auto path = find_executable(name, search_path_in(environment));
    if (!path) continue;
    const EngineQuestion engine(*path, environment, clock);
    std::string version = version_in(engine.printed({"--version"}));
    if (version.empty()) continue;
    tools.versions.emplace_back(name, std::move(version));
    ask_for_images(engine, name, tools);
    ask_for_labelled(engine, name, tools);
  }
}

}  // namespace berth
