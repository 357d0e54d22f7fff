#include "run/container/engine.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/fd.h"
#include "base/temporary_directory.h"

namespace berth {
namespace {

// As docker 26.1.5 and podman 4.3.1 print it, shortened.
constexpr std::string_view of_docker = R"([{"Id": "d066",
  "State": {"Status": "running", "Running": true, "OOMKilled": false, "Pid": 4780, "ExitCode": 0},
  "Image": "sha256:481c", "Config": {"Image": "busy:1", "Env": ["PATH=/bin", "CUDA_VISIBLE_DEVICES=0"],
  "Labels": {"berth.run": "r1"}}}])";
constexpr std::string_view of_podman = R"([{"Id": "ab12",
  "State": {"Status": "exited", "Running": false, "OOMKilled": true, "Pid": 0, "ExitCode": 137},
  "Image": "d78803a89d3de26061410ce8c6116c6e38a6c971da00b756eb3cb5f389ac195c",
  "ImageName": "localhost/busy:1", "ImageDigest": "sha256:77", "Config": {"Labels": null}}])";

TEST(InspectedContainer, IsReadOfDocker) {
  const auto seen = parse_inspected(of_docker);
  ASSERT_TRUE(seen) << seen.error().message();
  ASSERT_EQ(seen->size(), 1U);
  const InspectedContainer& one = seen->front();
  EXPECT_EQ(one.run, "r1");
  EXPECT_TRUE(one.is_running);
  EXPECT_EQ(one.process, 4780);
  EXPECT_FALSE(one.exit_code.get()) << "0 of one that runs is no exit code";
  EXPECT_EQ(one.image, "busy:1");
  EXPECT_EQ(one.image_id, "sha256:481c");
  EXPECT_EQ(one.visible_devices, "0");
}

TEST(InspectedContainer, IsReadOfPodman) {
  const InspectedContainer one = parse_inspected(of_podman)->front();
  EXPECT_FALSE(one.is_running);
  EXPECT_TRUE(one.has_started);
  EXPECT_EQ(one.exit_code, Reading<int>(137));
  EXPECT_EQ(one.oom_killed, Reading<bool>(true));
  EXPECT_EQ(one.image, "localhost/busy:1");
  EXPECT_EQ(one.image_digest, "sha256:77");
  EXPECT_EQ(one.run, "");
}

TEST(InspectedContainer, IsReadOfNerdctlWhichTellsNeitherIdNorDigestNorWhetherMemoryRanOut) {
  const auto one = parse_inspected(R"([{"Id": "a", "Image": "docker.io/library/busy:1",
      "State": {"Status": "exited", "Running": false, "Pid": 0, "ExitCode": 137},
      "Config": {"Image": "docker.io/library/busy:1"}}])")
                       ->front();
  EXPECT_EQ(one.image, "docker.io/library/busy:1");
  EXPECT_EQ(one.image_id, "");
  EXPECT_EQ(one.image_digest, "");
  EXPECT_FALSE(one.oom_killed.get());
}

TEST(InspectedContainer, OneThatNerdctlMakesHasNotStarted) {
  const auto one = parse_inspected(R"([{"Id": "a", "State": {"Status": "", "Running": false,
      "Paused": false, "Restarting": false, "Pid": 0, "ExitCode": 0, "Error": "", "StartedAt": "",
      "FinishedAt": ""}}])")
                       ->front();
  EXPECT_FALSE(one.has_started);
  EXPECT_FALSE(one.exit_code.get());
}

TEST(InspectedContainer, OneThatWasMadeAndNotStartedHasNoCode) {
  const InspectedContainer one =
      parse_inspected(R"([{"Id": "a", "State": {"Status": "created", "ExitCode": 0}}])")->front();
  EXPECT_FALSE(one.has_started);
  EXPECT_FALSE(one.exit_code.get());
}

TEST(InspectedContainer, OneThatIsRemovedBeforeItRanHasNoCode) {
  const std::string state = R"([{"Id": "a", "State": {"Status": "removing", "ExitCode": 0, )";
  const auto never = parse_inspected(state + R"("StartedAt": "0001-01-01T00:00:00Z"}}])")->front();
  EXPECT_FALSE(never.has_started);
  EXPECT_FALSE(never.exit_code.get());
  const auto ran = parse_inspected(state + R"("StartedAt": "2026-01-02T03:04:05Z"}}])")->front();
  EXPECT_EQ(ran.exit_code, Reading<int>(0));
}

TEST(InspectedContainer, OneThatPodmanHasPausedOrHasYetToStopLives) {
  for (const std::string status : {"paused", "stopping"}) {
    const std::string state = R"("Running": false, "Pid": 42, "ExitCode": 0, "Status": ")" + status;
    const auto one = parse_inspected(R"([{"Id": "a", "State": {)" + state + "\"}}]")->front();
    EXPECT_TRUE(one.is_running) << status;
    EXPECT_FALSE(one.exit_code.get()) << status;
  }
}

TEST(InspectedContainer, AnEngineThatIsAwayIsNoContainerThatIsGone) {
  EXPECT_TRUE(says_no_such_container("Error response from daemon: No such container: 4f1"));
  EXPECT_TRUE(says_no_such_container("Error: no such object: \"4f1\""));
  EXPECT_TRUE(says_no_such_container("Error: inspecting object: no such container 4f1"));
  EXPECT_FALSE(says_no_such_container(
      "failed to connect to the docker API at unix:///run/docker.sock: dial unix "
      "/run/docker.sock: connect: no such file or directory"));
  EXPECT_FALSE(says_no_such_container(
      "cannot access containerd socket \"/run/containerd.sock\": no such file or directory"));
}

TEST(InspectedImage, HasTheDigestOfTheRepositoryItWasAskedForBy) {
  // As docker 26.1.5 prints it, shortened.
  constexpr std::string_view image = R"([{"Id": "sha256:481c", "RepoTags": ["busy:1"],
      "RepoDigests": ["mirror.example/busy@sha256:1", "docker.io/library/busy@sha256:2"]}])";
  const auto digest = [&](std::string_view name) {
    return parse_inspected_image(image, name)->digest;
  };
  EXPECT_EQ(digest("busy:1"), Reading<std::string>("sha256:2"));
  EXPECT_EQ(digest("mirror.example/busy"), Reading<std::string>("sha256:1"));
  EXPECT_EQ(digest("sha256:481c"), Reading<std::string>("sha256:1"));
  EXPECT_EQ(parse_inspected_image(image, "busy")->id, "sha256:481c");
}

TEST(InspectedImage, OneThatWasBuiltHereHasNoDigest) {
  const auto built = parse_inspected_image(R"([{"Id": "sha256:481c", "RepoDigests": []}])", "busy");
  EXPECT_EQ(built->digest, Reading<std::string>(Absent::unsupported));
  EXPECT_FALSE(parse_inspected_image("[]", "busy"));
  EXPECT_FALSE(parse_inspected_image("Error: No such image: busy", "busy"));
}

TEST(InspectedContainer, OtherTextIsNone) {
  EXPECT_FALSE(parse_inspected("Error: no such container"));
  EXPECT_TRUE(parse_inspected("[]")->empty());
  EXPECT_TRUE(parse_inspected("[3, null]"));
}

/// Where podman's containers run, and what says so. No other machine is asked.
std::pair<std::string, std::string> podmans_endpoint(
    std::vector<std::string> words, const std::vector<std::string>& environment = {}) {
  const TemporaryDirectory nowhere;
  words.insert(words.begin(), "podman");
  words.insert(words.end(), {"run", "image"});
  const auto command = read_container_command(words);
  if (!command || !*command) return {"it is not read", ""};
  SystemClock clock;
  const auto engine = ask_container_engine(**command, environment, clock, nowhere / "root");
  if (!engine) return {engine.error().message(), ""};
  return {engine->endpoint, engine->endpoint_by};
}

TEST(PodmansEndpoint, IsWhatItsClientGoesBy) {
  using Endpoint = std::pair<std::string, std::string>;
  const std::string host = "CONTAINER_HOST=ssh://host/run/podman.sock";
  EXPECT_EQ(podmans_endpoint({}), Endpoint("", ""));
  EXPECT_EQ(podmans_endpoint({"--url", "tcp://typed:1"}, {host}),
            Endpoint("tcp://typed:1", "--url tcp://typed:1"));
  EXPECT_EQ(podmans_endpoint({"--connection", "far"}),
            Endpoint("podman's connection", "--connection far"));
  EXPECT_EQ(podmans_endpoint({"--remote"}), Endpoint("podman's connection", "--remote"));
  EXPECT_EQ(podmans_endpoint({"--remote=false"}), Endpoint("", ""));
  EXPECT_EQ(podmans_endpoint({}, {host}), Endpoint("ssh://host/run/podman.sock", "CONTAINER_HOST"));
  EXPECT_EQ(podmans_endpoint({}, {"CONTAINER_CONNECTION=far"}),
            Endpoint("far", "CONTAINER_CONNECTION"));
}

TEST(NerdctlsFolders, AreThoseOfItsFileUnlessItsOptionNamesOthers) {
  const TemporaryDirectory directory;
  ASSERT_TRUE(write_file_atomically(directory / "nerdctl",
                                    "#!/bin/sh\necho nerdctl version 2.1.4\n", 0755));
  const auto folders = [&](std::vector<std::string> words, const std::string& file) {
    EXPECT_TRUE(write_file_atomically(directory / "nerdctl.toml", file, 0644));
    words.insert(words.begin(), "nerdctl");
    words.insert(words.end(), {"run", "image"});
    const auto command = read_container_command(words);
    const std::vector<std::string> environment = {"PATH=" + (directory / "") + ":/usr/bin:/bin",
                                                  "NERDCTL_TOML=/nerdctl.toml"};
    SystemClock clock;
    const auto engine = ask_container_engine(**command, environment, clock, directory / "");
    return engine ? engine->cdi_folders : std::vector{engine.error().message()};
  };
  using testing::ElementsAre;
  const std::string file = "debug = true\ncdi_spec_dirs = [\"/opt/cdi\", \"/srv/cdi\"]\n";
  EXPECT_THAT(folders({}, file), ElementsAre("/opt/cdi", "/srv/cdi"));
  EXPECT_THAT(folders({"--cdi-spec-dirs", "/typed"}, file), ElementsAre("/typed"));
  EXPECT_EQ(folders({}, "debug = true\n"), usual_cdi_folders());
  EXPECT_EQ(folders({}, "cdi_spec_dirs = []\n"), usual_cdi_folders());
}

/// A docker whose contexts have endpoints of their names, and which has a context in use.
class DockersEndpoint : public testing::Test {
 protected:
  DockersEndpoint() {
    const std::string program =
        "#!/bin/sh\n"
        "while [ $# -gt 0 ]; do\n"
        "  if [ \"$1\" = inspect ]; then echo tcp://$2:2375; exit; fi\n"
        "  shift\n"
        "done\n"
        "echo {}\n";
    EXPECT_TRUE(write_file_atomically(directory_ / "docker", program, 0755));
    use_context("in-use");
  }
  void use_context(const std::string& name) {
    EXPECT_TRUE(make_directories(directory_ / ".docker"));
    const std::string text = R"({"currentContext": ")" + name + R"("})";
    EXPECT_TRUE(write_file_atomically(directory_ / ".docker/config.json", text, 0600));
  }
  /// The endpoint, and what names it.
  std::pair<std::string, std::string> of(std::vector<std::string> words,
                                         std::vector<std::string> environment) {
    environment.push_back("PATH=" + (directory_ / "") + ":/usr/bin:/bin");
    environment.push_back("HOME=" + (directory_ / ""));
    words.insert(words.end(), {"run", "image"});
    const auto command = read_container_command(words);
    if (!command || !*command) return {"it is not read", ""};
    SystemClock clock;
    const auto engine = ask_container_engine(**command, environment, clock, directory_ / "root");
    if (!engine) return {engine.error().message(), ""};
    return {engine->endpoint, engine->endpoint_by};
  }

  TemporaryDirectory directory_;
};

TEST_F(DockersEndpoint, IsWhatItsClientGoesBy) {
  using Endpoint = std::pair<std::string, std::string>;
  const std::string host = "DOCKER_HOST=tcp://host:1";
  const std::string context = "DOCKER_CONTEXT=named";
  EXPECT_EQ(of({"docker"}, {}), Endpoint("tcp://in-use:2375", "docker context use in-use"));
  EXPECT_EQ(of({"docker"}, {context}), Endpoint("tcp://named:2375", "DOCKER_CONTEXT"));
  EXPECT_EQ(of({"docker"}, {context, host}), Endpoint("tcp://host:1", "DOCKER_HOST"));
  EXPECT_EQ(of({"docker", "--context", "typed"}, {context, host}),
            Endpoint("tcp://typed:2375", "--context typed"));
  EXPECT_EQ(of({"docker", "--context", "default"}, {context, host}),
            Endpoint("tcp://host:1", "DOCKER_HOST"));
  EXPECT_EQ(of({"docker", "--context", "default"}, {context}), Endpoint("", ""));
  EXPECT_EQ(of({"docker", "-H", "tcp://typed:2"}, {context, host}).first, "tcp://typed:2");
  use_context("default");
  EXPECT_EQ(of({"docker"}, {}), Endpoint("", ""));
}

}  // namespace
}  // namespace berth
