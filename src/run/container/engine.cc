#include "run/container/engine.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <utility>

#include "base/fd.h"
#include "base/json.h"
#include "base/process.h"
#include "base/text.h"
#include "config/toml_value.h"
#include "host_environment/environment.h"
#include "host_environment/host_facts.h"
#include "host_environment/machine_side.h"
#include "run/container/toolkit.h"
#include "snapshot/device_kind.h"

namespace berth {

namespace {

constexpr Duration engine_patience = std::chrono::seconds(20);
/// A job is not kept waiting for a hint.
constexpr Duration hint_patience = std::chrono::seconds(1);

std::string text_of(const ForeignJson& value) {
  return value.is_string() ? value.get<std::string>() : std::string();
}

bool is_true(const ForeignJson& value) { return value.is_boolean() && value.get<bool>(); }

/// What the engine's program prints for these words.
Result<std::string> printed_by(const ContainerCommand& command, std::vector<std::string> words,
                               const std::vector<std::string>& environment, Clock& clock,
                               Duration patience = engine_patience) {
  std::vector<std::string> whole = command.engine_words();
  whole.insert(whole.end(), std::make_move_iterator(words.begin()),
               std::make_move_iterator(words.end()));
  const auto answer = answer_of(whole, environment, search_path_in(environment), clock, patience);
  if (!answer) return std::unexpected(answer.error());
  if (!answer->exit) {
    return fail(ErrorCode::timeout, "{} does not answer: `{}` took longer than {}", command.engine,
                printable(shell_joined(whole)), "20s");
  }
  if (shell_exit_code(*answer->exit) != 0) {
    const std::string_view said = trimmed(answer->err);
    return fail(ErrorCode::io, "{} does not answer: {}", command.engine,
                said.empty() ? sentence("`{}` ended with {}", printable(shell_joined(whole)),
                                        shell_exit_code(*answer->exit))
                             : Sentence::as_is(printable(said)));
  }
  return answer->out;
}

const ContainerOption* engine_option(const ContainerCommand& command, std::string_view name) {
  const auto last = std::find_if(command.engine_options.rbegin(), command.engine_options.rend(),
                                 [&](const ContainerOption& one) { return one.name == name; });
  return last == command.engine_options.rend() ? nullptr : &*last;
}

/// The context that docker uses where nothing names a host, and what names it. Nothing: its own
/// engine here.
std::optional<std::pair<std::string, std::string>> docker_context(
    const ContainerCommand& command, const std::vector<std::string>& environment) {
  if (const auto named = value_of(environment, "DOCKER_CONTEXT"); named && !named->empty()) {
    return std::pair{*named, std::string("DOCKER_CONTEXT")};
  }
  const auto* folder = engine_option(command, "config");
  const std::string home = value_of(environment, "HOME").value_or("");
  const std::string config =
      folder != nullptr ? folder->value
                        : value_of(environment, "DOCKER_CONFIG").value_or(home + "/.docker");
  const auto text = read_file(config + "/config.json");
  const ForeignJson settings = text ? parse_foreign_json(*text) : ForeignJson();
  const std::string current = text_of(member_of(settings, "currentContext"));
  if (current.empty()) return std::nullopt;
  return std::pair{current, "docker context use " + current};
}

Result<void> find_docker_endpoint(const ContainerCommand& command,
                                  const std::vector<std::string>& environment, Clock& clock,
                                  ContainerEngine& engine) {
  if (const auto* option = engine_option(command, "host")) {
    engine.endpoint = option->value;
    engine.endpoint_by = option->text(command.words);
    return {};
  }
  // docker's client takes the first of --context, --host, DOCKER_HOST, DOCKER_CONTEXT, the current
  // context. The context "default" means what DOCKER_HOST says.
  const auto* option = engine_option(command, "context");
  const bool is_named = option != nullptr && option->value != "default";
  const auto host = value_of(environment, "DOCKER_HOST");
  if (!is_named && host && !host->empty()) {
    engine.endpoint = *host;
    engine.endpoint_by = "DOCKER_HOST";
    return {};
  }
  const auto context = option != nullptr
                           ? std::optional(std::pair{option->value, "--context " + option->value})
                           : docker_context(command, environment);
  if (!context || context->first == "default") return {};
  const auto said = printed_by(
      command, {"context", "inspect", context->first, "--format", "{{.Endpoints.docker.Host}}"},
      environment, clock);
  if (!said) return std::unexpected(said.error());
  engine.endpoint = trimmed(*said);
  engine.endpoint_by = context->second;
  return {};
}

void find_podman_endpoint(const ContainerCommand& command,
                          const std::vector<std::string>& environment, ContainerEngine& engine) {
  constexpr std::array<std::string_view, 3> options = {"url", "connection", "remote"};
  for (const std::string_view name : options) {
    const auto* option = engine_option(command, name);
    if (option == nullptr || option->value == "false") continue;
    engine.endpoint = name == "url" ? option->value : "podman's connection";
    engine.endpoint_by = option->text(command.words);
    return;
  }
  for (const char* variable : {"CONTAINER_HOST", "CONTAINER_CONNECTION"}) {
    const auto value = value_of(environment, variable);
    if (!value || value->empty()) continue;
    engine.endpoint = *value;
    engine.endpoint_by = variable;
    return;
  }
}

/// docker 25 and newer tell where they look for CDI files; none where the feature is off.
Result<std::vector<std::string>> docker_cdi_folders(const ContainerCommand& command,
                                                    const std::vector<std::string>& environment,
                                                    Clock& clock) {
  const auto said = printed_by(command, {"info", "--format", "{{json .}}"}, environment, clock);
  if (!said) return std::unexpected(said.error());
  const ForeignJson info = parse_foreign_json(*said);
  // The client has printed what it knows, and the daemon's mistakes in it.
  const ForeignJson& mistakes = member_of(info, "ServerErrors");
  if (mistakes.is_array() && !mistakes.empty()) {
    return fail(ErrorCode::io, "{} does not answer: {}", command.engine,
                printable(text_of(mistakes.front())));
  }
  std::vector<std::string> folders;
  const ForeignJson& named = member_of(info, "CDISpecDirs");
  if (!named.is_array()) return folders;
  for (const ForeignJson& one : named) {
    if (one.is_string()) folders.push_back(one.get<std::string>());
  }
  return folders;
}

/// As `nerdctl --version` says it.
std::optional<TwoPart> nerdctl_version(std::string_view said) {
  const std::size_t at = said.find_first_of("0123456789");
  return at == said.npos ? std::nullopt : two_part(said.substr(at));
}
// It takes --device VENDOR/CLASS=NAME from the one on, and --gpus means such a name from the other.
constexpr TwoPart nerdctl_with_cdi{2, 1};
constexpr TwoPart nerdctl_with_cdi_alone{2, 3};

/// The settings in nerdctl's own file.
std::string nerdctl_file_folders(const std::vector<std::string>& environment,
                                 const std::string& root) {
  const std::string own = value_of(environment, "XDG_CONFIG_HOME")
                              .value_or(value_of(environment, "HOME").value_or("") + "/.config");
  const std::string usual = (::geteuid() == 0 ? "/etc" : own) + "/nerdctl/nerdctl.toml";
  const auto text = read_file(root + value_of(environment, "NERDCTL_TOML").value_or(usual));
  return text ? toml_value(*text, "cdi_spec_dirs").value_or("") : std::string();
}

std::vector<std::string> nerdctl_cdi_folders(const ContainerCommand& command,
                                             const std::vector<std::string>& environment,
                                             const std::string& root) {
  std::string named;
  for (const ContainerOption& option : command.engine_options) {
    if (option.name == "cdi-spec-dirs") named += (named.empty() ? "" : ",") + option.value;
  }
  if (named.empty()) named = nerdctl_file_folders(environment, root);
  if (named.empty()) return usual_cdi_folders();
  const auto folders = split(named, ',');
  return {folders.begin(), folders.end()};
}

}  // namespace

Result<ContainerEngine> ask_container_engine(const ContainerCommand& command,
                                             const std::vector<std::string>& environment,
                                             Clock& clock, const std::string& root) {
  ContainerEngine engine;
  bool needs_cdi = false;
  if (command.engine == "docker") {
    const auto found = find_docker_endpoint(command, environment, clock, engine);
    if (!found) return std::unexpected(found.error());
  } else if (command.engine == "podman") {
    find_podman_endpoint(command, environment, engine);
  }
  if (!is_local_endpoint(engine.endpoint)) return engine;
  if (command.engine == "docker") {
    auto folders = docker_cdi_folders(command, environment, clock);
    if (!folders) return std::unexpected(std::move(folders).error());
    engine.cdi_folders = *std::move(folders);
  } else if (command.engine == "podman") {
    engine.cdi_folders = usual_cdi_folders();
  } else {
    const auto said = printed_by(command, {"--version"}, environment, clock);
    if (!said) return std::unexpected(said.error());
    const auto version = nerdctl_version(*said);
    if (version && *version >= nerdctl_with_cdi) {
      engine.cdi_folders = nerdctl_cdi_folders(command, environment, root);
    }
    needs_cdi = version && *version >= nerdctl_with_cdi_alone;
  }
  engine.cdi = read_cdi_specs(engine.cdi_folders, root);
  if (needs_cdi) return engine;
  engine.toolkit = gather_container_tools(root, search_path_in(environment),
                                          value_of(environment, "HOME").value_or(""))
                       .toolkit;
  return engine;
}

namespace {

/// Whether there may be devices for which no engine needs help. Which one the lease has is not
/// known yet.
bool has_devices_given_by_files() {
  return std::ranges::any_of(device_kinds(), [](const DeviceKindFacts& kind) {
    if (!kind.is_given_by_files) return false;
    const std::size_t slash = kind.card_file.rfind('/');
    const auto names = list_directory(std::string(kind.card_file.substr(0, slash)));
    return names && std::ranges::any_of(*names, [&](const std::string& name) {
             return name.starts_with(kind.card_file.substr(slash + 1));
           });
  });
}

}  // namespace

Result<ContainerEngine> fit_container(const ContainerCommand& command, const RunOptions& options,
                                      const RunServices& services) {
  const bool is_real = !services.simulated;
  auto engine = is_real ? ask_container_engine(command, options.environment, services.clock)
                        : Result<ContainerEngine>(ContainerEngine{});
  if (!engine) return engine;
  const auto read = [&](const std::string& path) -> std::optional<std::string> {
    const bool is_absolute = path.starts_with('/');
    auto text = read_file(is_absolute ? path : options.working_directory + "/" + path);
    return text ? std::optional(*std::move(text)) : std::nullopt;
  };
  if (auto wrong = contradiction_in(command, *engine, options.job, read)) {
    return std::unexpected(*std::move(wrong));
  }
  const bool has_way = !engine->cdi.specs.empty() ||
                       (command.engine != "podman" && !engine->toolkit.empty()) ||
                       has_devices_given_by_files();
  if (is_real && !has_way && options.job.where == RunWhere::gpu) {
    return std::unexpected(no_device_way(command, "", *engine));
  }
  return engine;
}

std::optional<std::string> devices_set_by_image(const ContainerCommand& command,
                                                const std::vector<std::string>& environment,
                                                Clock& clock) {
  const std::string image = command.image_name();
  if (image.empty()) return std::nullopt;
  const auto said =
      printed_by(command, {"image", "inspect", image}, environment, clock, hint_patience);
  const auto list = said ? parse_inspected(*said) : std::unexpected(said.error());
  return list && list->size() == 1 ? list->front().visible_devices : std::nullopt;
}

std::vector<std::pair<std::string, std::string>> engine_variables(
    const std::vector<std::string>& environment) {
  constexpr std::array<std::string_view, 17> names = {"PATH",
                                                      "HOME",
                                                      "DOCKER_HOST",
                                                      "DOCKER_CONTEXT",
                                                      "DOCKER_CONFIG",
                                                      "DOCKER_TLS_VERIFY",
                                                      "DOCKER_CERT_PATH",
                                                      "DOCKER_API_VERSION",
                                                      "CONTAINER_HOST",
                                                      "CONTAINER_CONNECTION",
                                                      "CONTAINERS_CONF",
                                                      "CONTAINERS_CONF_OVERRIDE",
                                                      "CONTAINERS_STORAGE_CONF",
                                                      "CONTAINERD_ADDRESS",
                                                      "CONTAINERD_NAMESPACE",
                                                      "NERDCTL_TOML",
                                                      "XDG_RUNTIME_DIR"};
  std::vector<std::pair<std::string, std::string>> found;
  for (const std::string_view name : names) {
    if (auto value = value_of(environment, name)) found.emplace_back(name, *std::move(value));
  }
  return found;
}

namespace {

InspectedContainer inspected(const ForeignJson& one) {
  InspectedContainer seen;
  const ForeignJson& state = member_of(one, "State");
  const ForeignJson& config = member_of(one, "Config");
  seen.id = text_of(member_of(one, "Id"));
  seen.run = text_of(member_of(member_of(config, "Labels"), std::string(container_label).c_str()));
  // podman says "not running" of one that is paused, or has yet to end by its stop.
  const std::string status = text_of(member_of(state, "Status"));
  constexpr std::array<std::string_view, 4> alive = {"paused", "stopping", "restarting", "unknown"};
  const bool is_alive = std::ranges::find(alive, status) != alive.end();
  seen.is_running = is_true(member_of(state, "Running")) || is_alive;
  // docker says "removing" of one that never ran, and that it ended with 0.
  // nerdctl says nothing of one that has no task yet, and that its code is 0.
  constexpr std::array<std::string_view, 4> unstarted = {"", "created", "initialized",
                                                         "configured"};
  seen.has_started = std::ranges::find(unstarted, status) == unstarted.end() &&
                     !text_of(member_of(state, "StartedAt")).starts_with("0001-01-01");
  const ForeignJson& pid = member_of(state, "Pid");
  if (pid.is_number_integer()) seen.process = pid.get<pid_t>();
  const ForeignJson& code = member_of(state, "ExitCode");
  if (!seen.is_running && seen.has_started && code.is_number_integer()) {
    seen.exit_code = code.get<int>();
  }
  const ForeignJson& killed = member_of(state, "OOMKilled");
  if (killed.is_boolean()) seen.oom_killed = killed.get<bool>();
  // docker: Image is the id and Config.Image the name; podman has the name in ImageName.
  seen.image = text_of(member_of(one, "ImageName"));
  if (seen.image.empty()) seen.image = text_of(member_of(config, "Image"));
  seen.image_id = text_of(member_of(one, "Image"));
  if (seen.image.empty()) std::swap(seen.image, seen.image_id);
  // nerdctl has the name there, too.
  if (!seen.image_id.starts_with("sha256:")) {
    seen.image_id = is_container_id(seen.image_id) ? "sha256:" + seen.image_id : std::string();
  }
  seen.image_digest = text_of(member_of(one, "ImageDigest"));
  const ForeignJson& variables = member_of(config, "Env");
  constexpr std::string_view visible = "CUDA_VISIBLE_DEVICES=";
  for (const ForeignJson& variable : variables.is_array() ? variables : ForeignJson::array()) {
    const std::string text = text_of(variable);
    if (text.starts_with(visible)) seen.visible_devices = text.substr(visible.size());
  }
  return seen;
}

}  // namespace

bool says_no_such_container(std::string_view error) {
  // docker: "No such container: x"; podman: "no such container x", "no such object: \"x\"".
  // "connect: no such file or directory" is said of the engine itself.
  return error.find("o such container") != std::string_view::npos ||
         error.find("o such object") != std::string_view::npos;
}

Result<std::vector<InspectedContainer>> parse_inspected(std::string_view text) {
  const ForeignJson list = parse_foreign_json(text);
  if (!list.is_array()) return fail(ErrorCode::invalid, "not what an engine's inspect prints");
  std::vector<InspectedContainer> found;
  for (const ForeignJson& one : list) found.push_back(inspected(one));
  return found;
}

namespace {

/// "registry:5000/busy" of "registry:5000/busy:1@sha256:…".
std::string_view repository_of(std::string_view name) {
  name = name.substr(0, name.find('@'));
  const std::size_t folder = name.rfind('/');
  const std::size_t tag = name.find(':', folder == name.npos ? 0 : folder);
  return name.substr(0, tag);
}

}  // namespace

Result<InspectedImage> parse_inspected_image(std::string_view text, std::string_view name) {
  const ForeignJson list = parse_foreign_json(text);
  if (!list.is_array() || list.size() != 1) {
    return fail(ErrorCode::invalid, "not what an engine's inspect prints");
  }
  const ForeignJson& image = list.front();
  InspectedImage seen{.id = text_of(member_of(image, "Id"))};
  if (is_container_id(seen.id)) seen.id = "sha256:" + seen.id;  // podman's
  const std::string_view wanted = repository_of(name);
  const ForeignJson& digests = member_of(image, "RepoDigests");
  for (const ForeignJson& one : digests.is_array() ? digests : ForeignJson::array()) {
    const std::string known = text_of(one);
    const std::size_t at = known.find('@');
    if (at == known.npos) continue;
    // Some engines call "busy" "docker.io/library/busy".
    std::string_view repository = repository_of(known);
    for (const std::string_view implied : {"docker.io/", "library/"}) {
      if (repository.starts_with(implied) && !wanted.starts_with(implied)) {
        repository.remove_prefix(implied.size());
      }
    }
    const bool is_wanted = repository == wanted;
    if (is_wanted || !seen.digest.get()) seen.digest = known.substr(at + 1);
    if (is_wanted) break;
  }
  return seen;
}

std::vector<std::string> words_for_code_in_events(const RunContainer& container) {
  if (container.engine != "podman") return {};
  return {"events",   "--stream=false", "--filter", "container=" + container.id,
          "--filter", "event=died",     "--format", "{{.ContainerExitCode}}"};
}

std::vector<std::string> engine_command(const RunContainer& container,
                                        std::vector<std::string> words) {
  std::vector<std::string> whole = container.engine_words;
  whole.insert(whole.end(), std::make_move_iterator(words.begin()),
               std::make_move_iterator(words.end()));
  return whole;
}

}  // namespace berth
