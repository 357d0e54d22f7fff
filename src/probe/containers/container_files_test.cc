#include "probe/containers/container_files.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/temporary_directory.h"

namespace berth {
namespace {

const std::string id(64, 'a');
const std::string other_id(64, 'b');
const std::string pod = "2f5c1d3e-0000-4b1c-8d3f-112233445566";

/// The files of container runtimes below a temporary directory.
class Runtimes : public testing::Test {
 protected:
  Runtimes() {
    put("etc/passwd", "alice:x:" + std::to_string(alice) + ":1001::/home/alice:/bin/sh\n");
    // What is read as its owner has to be within reach.
    EXPECT_EQ(::chmod(root_.path().c_str(), 0755), 0);
  }
  /// The same in alice's home, and hers.
  void put_at_home(const std::string& name, const std::string& text) {
    put("home/alice/" + name, text);
    for (std::string path = "home/alice/" + name; path != "home";
         path = path.substr(0, path.rfind('/'))) {
      ASSERT_EQ(::lchown((root_ / path).c_str(), alice, static_cast<gid_t>(-1)), 0);
    }
  }
  void put(const std::string& name, const std::string& text) {
    const std::string path = root_ / name;
    ASSERT_TRUE(make_directories(path.substr(0, path.rfind('/'))));
    ASSERT_TRUE(write_file_atomically(path, text));
  }
  ContainerNames names_of(const std::string& runtime, std::optional<uid_t> owner = std::nullopt) {
    return names_of(Enclosure{.runtime = runtime, .id = id, .owner_uid = owner});
  }
  ContainerNames names_of(const Enclosure& enclosure) {
    return ContainerFiles({.root = root_.path(), .passwd = root_ / "etc/passwd"})
        .names_of(enclosure);
  }
  const uid_t alice = ::geteuid() == 0 ? 1001 : ::geteuid();
  TemporaryDirectory root_;
};

// Shaped as docker 24 writes it, without the parts that say nothing here.
const char* const docker_config = R"({"StreamConfig":{},"State":{"Running":true,"Pid":4711},
  "ID":"x","Created":"2025-01-01T00:00:00Z","Managed":false,"Path":"python","Args":["t.py"],
  "Config":{"Hostname":"1a2b","Env":["PATH=/bin"],"Cmd":["python","t.py"],
  "Image":"pytorch/pytorch:2.5.1","Labels":{}},"Image":"sha256:1234","Name":"/llm-train",
  "Driver":"overlay2","RestartCount":0})";

TEST_F(Runtimes, DockerTellsNameAndImage) {
  put("var/lib/docker/containers/" + id + "/config.v2.json", docker_config);
  EXPECT_EQ(names_of("docker").name, Reading<std::string>("llm-train"));
  EXPECT_EQ(names_of("docker").image, Reading<std::string>("pytorch/pytorch:2.5.1"));
}

TEST_F(Runtimes, DockerIsFoundWhereItsSettingsPutIt) {
  put("etc/docker/daemon.json", R"({"data-root": "/data/docker", "runtimes": {}})");
  put("data/docker/containers/" + id + "/config.v2.json", docker_config);
  EXPECT_EQ(names_of("docker").name, Reading<std::string>("llm-train"));
}

TEST_F(Runtimes, UsersOwnDockerIsInTheirHome) {
  put_at_home(".local/share/docker/containers/" + id + "/config.v2.json", docker_config);
  EXPECT_EQ(names_of("docker", alice).name, Reading<std::string>("llm-train"));
  EXPECT_EQ(names_of("docker", alice + 1).name, Reading<std::string>(Absent::failed));
}

TEST_F(Runtimes, WhatAUserLinksToIsNotReadForThemByRoot) {
  if (::geteuid() != 0) GTEST_SKIP() << "root alone could read it";
  put("var/lib/docker/containers/" + id + "/config.v2.json", docker_config);
  put_at_home(".local/share/other", "");
  const std::string link = root_ / "home/alice/.local/share/docker";
  ASSERT_EQ(::symlink((root_ / "var/lib/docker").c_str(), link.c_str()), 0);
  ASSERT_EQ(::lchown(link.c_str(), alice, static_cast<gid_t>(-1)), 0);
  EXPECT_EQ(names_of("docker", alice).name, Reading<std::string>(Absent::no_permission));
  ASSERT_EQ(::chmod((root_ / "var/lib/docker").c_str(), 0700), 0);
  EXPECT_EQ(names_of("docker", alice).name, Reading<std::string>(Absent::no_permission));
}

/// As podman 4 and 5 write it: the metadata are JSON in a text.
std::string storage_list(const std::string& of, const std::string& name) {
  return R"([{"id":")" + other_id + R"(","names":["other"]},{"id":")" + of + R"(","names":[")" +
         name + R"("],"image":"3209","layer":"77",)" +
         R"("metadata":"{\"image-name\":\"docker.io/library/alpine:latest\",)" +
         R"(\"image-id\":\"3209\",\"name\":\"keep\"}","created":"2025-01-01T00:00:00Z"}])";
}

TEST_F(Runtimes, PodmanOfRootTellsNameAndImage) {
  put("var/lib/containers/storage/overlay-containers/containers.json", storage_list(id, "keep"));
  EXPECT_EQ(names_of("podman").name, Reading<std::string>("keep"));
  EXPECT_EQ(names_of("podman").image, Reading<std::string>("docker.io/library/alpine:latest"));
}

TEST_F(Runtimes, PodmanOfAUserIsInTheirHomeAlsoWhereItWillBeRemoved) {
  const std::string storage = ".local/share/containers/storage/overlay-containers/";
  put_at_home(storage + "containers.json", storage_list(other_id, "old"));
  put_at_home(storage + "volatile-containers.json", storage_list(id, "tidy"));
  put("var/lib/containers/storage/overlay-containers/containers.json", storage_list(id, "root's"));
  EXPECT_EQ(names_of("podman", alice).name, Reading<std::string>("tidy"));
}

const char* const cri_bundle = R"({"ociVersion":"1.1.0","process":{"args":["serve"]},
  "annotations":{"io.kubernetes.cri.container-name":"worker",
  "io.kubernetes.cri.container-type":"container",
  "io.kubernetes.cri.image-name":"registry.local/llm:7","io.kubernetes.cri.sandbox-id":"c0",
  "io.kubernetes.cri.sandbox-name":"llm-0","io.kubernetes.cri.sandbox-namespace":"team-a"}})";

TEST_F(Runtimes, ContainerdOfKubernetesTellsNamespacePodAndContainer) {
  put("run/containerd/io.containerd.runtime.v2.task/k8s.io/" + id + "/config.json", cri_bundle);
  EXPECT_EQ(names_of("kubernetes").name, Reading<std::string>("team-a/llm-0/worker"));
  EXPECT_EQ(names_of("kubernetes").image, Reading<std::string>("registry.local/llm:7"));
}

TEST_F(Runtimes, CriOTellsTheSameInItsOwnWords) {
  put("run/containers/storage/overlay-containers/" + id + "/userdata/config.json",
      R"({"annotations":{"io.kubernetes.container.name":"worker","io.kubernetes.pod.name":"llm-0",
      "io.kubernetes.pod.namespace":"team-a","io.kubernetes.cri-o.ImageName":"quay.io/llm:7"}})");
  EXPECT_EQ(names_of("kubernetes").name, Reading<std::string>("team-a/llm-0/worker"));
  EXPECT_EQ(names_of("cri-o").image, Reading<std::string>("quay.io/llm:7"));
}

TEST_F(Runtimes, NerdctlTellsItsName) {
  put("run/containerd/io.containerd.runtime.v2.task/default/" + id + "/config.json",
      R"({"annotations":{"nerdctl/name":"bench","nerdctl/namespace":"default"}})");
  EXPECT_EQ(names_of("containerd").name, Reading<std::string>("bench"));
  EXPECT_EQ(names_of("containerd").image, Reading<std::string>(Absent::failed));
}

TEST_F(Runtimes, KubeletsLogsNameAPodToEverybody) {
  put("var/log/containers/llm-0_team-a_worker-" + id + ".log", "");
  put("var/log/containers/llm-1_team-a_worker-" + other_id + ".log", "");
  EXPECT_EQ(names_of("kubernetes").name, Reading<std::string>("team-a/llm-0/worker"));
  put("var/log/pods/team-b_web_" + pod + "/main/0.log", "");
  EXPECT_EQ(names_of(Enclosure{.runtime = "kubernetes", .id = pod, .pod_uid = pod}).name,
            Reading<std::string>("team-b/web"));
}

TEST_F(Runtimes, WhatNobodyNamesIsSaid) {
  EXPECT_EQ(names_of("docker").name, Reading<std::string>(Absent::failed));
  EXPECT_EQ(names_of(Enclosure{.runtime = "slurm", .id = "42", .name = Absent::unsupported}).name,
            Reading<std::string>(Absent::unsupported));
}

TEST_F(Runtimes, FilesOfRootAloneSayThatPermissionIsMissing) {
  put("var/lib/docker/containers/" + id + "/config.v2.json", docker_config);
  const std::string closed = root_ / "var/lib/docker";
  ASSERT_EQ(::chmod(root_.path().c_str(), 0755), 0);
  ASSERT_EQ(::chmod(closed.c_str(), 0), 0);
  const uid_t self = ::geteuid();
  constexpr uid_t nobody = 65534;
  ASSERT_TRUE(self != 0 || ::seteuid(nobody) == 0) << "root may read everything";
  const Reading<std::string> name = names_of("docker").name;
  ASSERT_EQ(::seteuid(self), 0);
  ASSERT_EQ(::chmod(closed.c_str(), 0700), 0);
  EXPECT_EQ(name, Reading<std::string>(Absent::no_permission));
}

TEST_F(Runtimes, TricksAreNotFollowed) {
  const std::string folder = "var/lib/docker/containers/" + id;
  put("secret", docker_config);
  ASSERT_TRUE(make_directories(root_ / folder));
  const std::string file = root_ / (folder + "/config.v2.json");
  ASSERT_EQ(::symlink((root_ / "secret").c_str(), file.c_str()), 0);
  EXPECT_FALSE(names_of("docker").name.has_value()) << "a link";
  ASSERT_EQ(::unlink(file.c_str()), 0);
  ASSERT_EQ(::mkfifo(file.c_str(), 0644), 0);
  EXPECT_FALSE(names_of("docker").name.has_value()) << "a FIFO";
  ASSERT_EQ(::unlink(file.c_str()), 0);
  put(folder + "/config.v2.json", std::string((8 << 20) + 1, ' '));
  EXPECT_FALSE(names_of("docker").name.has_value()) << "too large";
  put("var/lib/docker/config.v2.json", docker_config);
  EXPECT_FALSE(names_of(Enclosure{.runtime = "docker", .id = ".."}).name.has_value());
}

}  // namespace
}  // namespace berth
