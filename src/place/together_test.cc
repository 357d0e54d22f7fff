#include "place/together.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <numeric>
#include <random>

#include "place/placement.h"
#include "snapshot/builder.h"
#include "snapshot/details.h"

namespace berth {
namespace {

using namespace literals;
using ::testing::ElementsAre;

/// A card below a path of the kernel's device tree, with links to other cards' addresses.
Device card(const std::string& path, std::uint64_t node, std::vector<std::string> links = {}) {
  Device device;
  const std::string address = "0000" + path.substr(path.rfind('/') + 1);
  device.id = DeviceId(address);
  device.kind = DeviceKind::nvidia_gpu;
  device.pci_address = address;
  device.numa_node = node;
  device.details.set(Detail::pci_path, Reading<std::string>(path));
  std::vector<NvLink> list;
  for (const std::string& remote : links) {
    list.push_back({static_cast<std::uint32_t>(list.size()), true, {}, remote});
  }
  device.lists.nvlinks = std::move(list);
  return device;
}

/// Two sockets, two switches each, two cards below each switch.
std::vector<Device> two_sockets() {
  std::vector<Device> cards;
  for (int i = 0; i < 8; ++i) {
    const int socket = i / 4;
    const int port = i / 2;
    cards.push_back(card("pci000" + std::to_string(socket) + ":00/0000:00:0" +
                             std::to_string(port) + ".0/0000:1" + std::to_string(port) +
                             ":00.0/0000:2" + std::to_string(i) + ":00.0/0000:3" +
                             std::to_string(i) + ":00.0",
                         static_cast<std::uint64_t>(socket)));
  }
  return cards;
}

std::vector<const Device*> some_of(const std::vector<Device>& cards,
                                   std::vector<std::size_t> which) {
  std::vector<const Device*> some;
  for (const std::size_t one : which) some.push_back(&cards[one]);
  return some;
}

std::vector<std::size_t> chosen(const std::vector<Device>& cards, std::vector<std::size_t> free,
                                std::size_t wanted, Together together = Together::any) {
  const auto best = best_set(JointTable(some_of(cards, free), cards), wanted, together);
  std::vector<std::size_t> which;
  for (const std::size_t one : best.value_or(std::vector<std::size_t>())) {
    which.push_back(free[one]);
  }
  return which;
}

TEST(Topology, TellsHowTwoAreJoined) {
  const auto cards = two_sockets();
  EXPECT_EQ(word_of(joint_between(cards[0], cards[1], cards)), "PIX");
  EXPECT_EQ(word_of(joint_between(cards[0], cards[2], cards)), "PHB");
  EXPECT_EQ(word_of(joint_between(cards[0], cards[4], cards)), "SYS");
  EXPECT_EQ(word_of(joint_between(cards[0], Device{}, cards)), "") << "not known";
}

TEST(Together, ThoseBelowOneSwitchAreTakenAndNoPairIsBroken) {
  const auto cards = two_sockets();
  EXPECT_THAT(chosen(cards, {0, 1, 2, 3, 4, 5, 6, 7}, 2), ElementsAre(0, 1));
  EXPECT_THAT(chosen(cards, {0, 2, 3, 4, 5}, 2), ElementsAre(4, 5))
      << "2 and 3 have a third beside them";
  EXPECT_THAT(chosen(cards, {1, 2, 3, 4, 5, 6, 7}, 4), ElementsAre(4, 5, 6, 7));
  EXPECT_THAT(chosen(cards, {0, 1, 2, 4, 5, 6, 7}, 3), ElementsAre(0, 1, 2))
      << "the other socket's four stay whole";
}

TEST(Together, WhatIsLeftOfABrokenSetGoesFirst) {
  const auto cards = two_sockets();
  EXPECT_THAT(chosen(cards, {0, 1, 4, 5, 6, 7}, 2), ElementsAre(0, 1));
  EXPECT_THAT(chosen(cards, {4, 5, 6, 7, 0, 1}, 2), ElementsAre(0, 1));
}

TEST(Together, AskedForStrictlyItIsThatOrNothing) {
  const auto cards = two_sockets();
  EXPECT_THAT(chosen(cards, {0, 2, 4, 6}, 2, Together::pcie), ElementsAre(0, 2));
  EXPECT_THAT(chosen(cards, {0, 4}, 2, Together::pcie), ElementsAre());
  EXPECT_THAT(chosen(cards, {0, 1}, 2, Together::nvlink), ElementsAre());
}

// --- against all sets there are ------------------------------------------------------------

int sum_of(const std::vector<std::size_t>& set, const std::vector<std::vector<int>>& weights) {
  int sum = 0;
  for (const std::size_t a : set) {
    for (const std::size_t b : set) sum += a < b ? weights[a][b] : 0;
  }
  return sum;
}

/// The number of links inside the best set of all, each counted as in `weights`.
int best_of_all(const std::vector<std::vector<int>>& weights, std::size_t wanted) {
  int best = 0;
  const std::size_t size = weights.size();
  for (std::uint32_t bits = 0; bits < 1U << size; ++bits) {
    if (static_cast<std::size_t>(std::popcount(bits)) != wanted) continue;
    std::vector<std::size_t> set;
    for (std::size_t i = 0; i < size; ++i) {
      if ((bits >> i & 1U) != 0) set.push_back(i);
    }
    best = std::max(best, sum_of(set, weights));
  }
  return best;
}

/// DGX-1's hybrid cube mesh of eight V100, links per pair (NVIDIA DGX-1 whitepaper, figure 4).
constexpr int cube_mesh[8][8] = {{0, 1, 1, 2, 2, 0, 0, 0}, {1, 0, 2, 1, 0, 2, 0, 0},
                                 {1, 2, 0, 2, 0, 0, 1, 0}, {2, 1, 2, 0, 0, 0, 0, 1},
                                 {2, 0, 0, 0, 0, 1, 1, 2}, {0, 2, 0, 0, 1, 0, 2, 1},
                                 {0, 0, 1, 0, 1, 2, 0, 2}, {0, 0, 0, 1, 2, 1, 2, 0}};

TEST(Together, OfACubeMeshItFindsTheBestSetOfEachSize) {
  std::vector<Device> cards = two_sockets();
  std::vector<std::vector<int>> weights(8, std::vector<int>(8));
  for (std::size_t a = 0; a < 8; ++a) {
    std::vector<NvLink> links;
    for (std::size_t b = 0; b < 8; ++b) {
      weights[a][b] = cube_mesh[a][b];
      for (int i = 0; i < cube_mesh[a][b]; ++i) {
        links.push_back({0, true, {}, *cards[b].pci_address.get()});
      }
    }
    cards[a].lists.nvlinks = std::move(links);
  }
  EXPECT_EQ(word_of(joint_between(cards[0], cards[3], cards)), "NV2");
  for (std::size_t wanted = 2; wanted <= 8; ++wanted) {
    const auto set = chosen(cards, {0, 1, 2, 3, 4, 5, 6, 7}, wanted);
    EXPECT_EQ(sum_of(set, weights), best_of_all(weights, wanted)) << wanted;
  }
  EXPECT_THAT(chosen(cards, {0, 1, 2, 5, 6}, 2, Together::nvlink), testing::SizeIs(2));
}

TEST(Together, OfThoseThatAllHaveNvlinkTheOnesOfOneNodeAreTaken) {
  std::vector<Device> cards = two_sockets();
  for (Device& card : cards) {
    card.lists.nvlinks = std::vector<NvLink>{{0, true, {}, std::string("0000:c0:00.0")}};
  }
  EXPECT_EQ(word_of(joint_between(cards[0], cards[7], cards)), "NV1");
  EXPECT_THAT(chosen(cards, {3, 4, 5, 6, 7}, 2), ElementsAre(4, 5));
  EXPECT_THAT(chosen(cards, {2, 3, 4, 5, 6, 7}, 4), ElementsAre(4, 5, 6, 7));
}

TEST(Together, OfPartsOfATreeItFindsTheBestSet) {
  std::mt19937 random(5);
  const auto cards = two_sockets();
  const auto weight = [&](std::size_t a, std::size_t b) {
    switch (joint_between(cards[a], cards[b], cards).kind) {
      case LinkKind::pix:
        return 20;
      case LinkKind::phb:
        return 6;
      default:
        return 1;
    }
  };
  for (int round = 0; round < 60; ++round) {
    std::vector<std::size_t> free(8);
    std::iota(free.begin(), free.end(), 0);
    std::shuffle(free.begin(), free.end(), random);
    free.resize(3 + random() % 6);
    std::vector<std::vector<int>> weights(free.size(), std::vector<int>(free.size()));
    for (std::size_t a = 0; a < free.size(); ++a) {
      for (std::size_t b = 0; b < free.size(); ++b)
        weights[a][b] = a == b ? 0 : weight(free[a], free[b]);
    }
    const std::size_t wanted = 2 + random() % (free.size() - 1);
    const auto best =
        best_set(JointTable(some_of(cards, free), cards), wanted, Together::any).value();
    ASSERT_EQ(sum_of(best, weights), best_of_all(weights, wanted)) << "round " << round;
  }
}

}  // namespace
}  // namespace berth
