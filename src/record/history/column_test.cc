#include "record/history/column.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <map>
#include <random>
#include <utility>

#include "record/history/bytes.h"
#include "record/history/example_load.h"
#include "record/history/metric.h"

namespace berth::history {
namespace {

using Entries = std::vector<Entry>;

constexpr std::int64_t least = std::numeric_limits<std::int64_t>::min();
constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max();

Entries numbers(std::initializer_list<std::int64_t> values) {
  Entries entries;
  for (const std::int64_t value : values) entries.emplace_back(value);
  return entries;
}

void expect_comes_back(const Entries& entries) {
  const auto back = decode_column(encode_column(entries));
  ASSERT_TRUE(back.has_value()) << back.error().message();
  EXPECT_EQ(*back, entries);
}

TEST(Column, GivesBackWhatWentIn) {
  expect_comes_back({});
  expect_comes_back(numbers({0}));
  expect_comes_back(numbers({5, 5, 5, 5}));
  expect_comes_back(numbers({least, most, 0, least, -1, most}));
  expect_comes_back(numbers({most, least}));
  expect_comes_back({Entry(Absent::failed), Entry(), Entry(7), Entry(Absent::unsupported),
                     Entry(Absent::no_permission), Entry(Absent::not_sampled), Entry(-7)});
}

TEST(Column, GivesBackACounterThatWraps) {
  Entries entries;
  std::uint64_t counter = std::numeric_limits<std::uint64_t>::max() - 5000;
  for (int i = 0; i < 100; ++i) {
    entries.emplace_back(static_cast<std::int64_t>(counter));
    counter += 137;
  }
  expect_comes_back(entries);
}

/// One of the kinds of series that there are: steady, noisy, a counter, steps, or anything at all.
Entries random_series(std::mt19937_64& random) {
  const auto pick = [&](std::uint64_t below) { return random() % below; };
  const std::uint64_t kind = pick(5);
  const auto base = static_cast<std::int64_t>(random() >> pick(64));
  const std::uint64_t noise = std::uint64_t{1} << pick(40);
  const std::uint64_t unit = 1 + pick(3) * 999;
  std::uint64_t number = static_cast<std::uint64_t>(base);
  Entries entries;
  for (std::uint64_t i = pick(700); i > 0; --i) {
    if (kind == 1) number = static_cast<std::uint64_t>(base) + pick(noise) * unit;
    if (kind == 2) number += pick(noise) * unit;
    if (kind == 3 && pick(50) == 0) number = random() >> pick(64);
    if (kind == 4) number = random();
    const std::uint64_t chance = pick(30);
    if (chance < 4) {
      entries.emplace_back(static_cast<Absent>(chance));
    } else if (chance == 4) {
      entries.emplace_back();
    } else {
      entries.emplace_back(static_cast<std::int64_t>(number));
    }
  }
  return entries;
}

TEST(Column, GivesBackAnySeries) {
  std::mt19937_64 random(20261121);
  for (int round = 0; round < 150; ++round) {
    const Entries entries = random_series(random);
    const auto back = decode_column(encode_column(entries));
    ASSERT_TRUE(back.has_value()) << "round " << round << ": " << back.error().message();
    ASSERT_EQ(*back, entries) << "round " << round;
  }
}

TEST(Column, TakesAFewBytesForWhatDoesNotChange) {
  EXPECT_LT(encode_column(Entries(600, Entry(42'949'672'960))).size(), 24U);
  EXPECT_LT(encode_column(Entries(600, Entry(Absent::failed))).size(), 12U);
}

TEST(Column, TakesAFewBytesForACounterThatGrowsEvenly) {
  Entries entries;
  for (std::int64_t i = 0; i < 600; ++i) entries.emplace_back(1'700'000'000'000 + i * 1000);
  EXPECT_LT(encode_column(entries).size(), 48U);
}

TEST(Column, TakesNoMoreForWholeUnitsOfALargerNumber) {
  std::mt19937_64 random(1);
  Entries percents;
  Entries thousandths;
  for (int i = 0; i < 600; ++i) {
    const auto percent = static_cast<std::int64_t>(random() % 8);
    percents.emplace_back(percent);
    thousandths.emplace_back(percent * 1000);
  }
  EXPECT_LE(encode_column(thousandths).size(), encode_column(percents).size() + 4);
}

TEST(Column, TakesAboutTheBitsOfTheNoise) {
  std::mt19937_64 random(2);
  Entries power;  // 600 W with 2048 mW of noise: eleven bits each
  for (int i = 0; i < 600; ++i) {
    power.emplace_back(600'000 + static_cast<std::int64_t>(random() % 2048));
  }
  constexpr std::size_t formerly = 841;  // bits side by side, which older versions chose for it
  EXPECT_LE(encode_column(power).size(), formerly * 11 / 10);
}

/// The earlier versions that picked the shortest of twelve shapes took so much for these readings.
TEST(Column, TakesATenthMoreAtMostThanTheShortestOfFormerShapes) {
  constexpr std::size_t formerly = 75'922;
  ExampleLoad load;
  std::map<std::pair<std::int64_t, std::size_t>, Entries> columns;
  for (std::int64_t second = 0; second < 600; ++second) {
    const Snapshot& look = load.look({1'760'000'400'000}, second);
    const auto add = [&](const MetricFacts& metric, auto read, const auto& subjects) {
      for (std::size_t i = 0; read != nullptr && i < subjects.size(); ++i) {
        columns[{metric.number, i}].push_back(entry_of(read(subjects[i])));
      }
    };
    for (const MetricFacts& metric : metrics()) {
      add(metric, metric.read, look.devices);
      add(metric, metric.read_process, look.gpu_processes);
    }
  }
  std::size_t bytes = 0;
  for (const auto& [series, entries] : columns) {
    const bool has_any =
        std::ranges::any_of(entries, [](const Entry& entry) { return entry.value().has_value(); });
    if (has_any) bytes += encode_column(entries).size();
  }
  EXPECT_LE(bytes, formerly * 11 / 10);
}

/// The shape byte of a column that is all numbers.
unsigned shape_in(const std::string& block) {
  ByteReader reader(block);
  (void)reader.byte();    // version
  (void)reader.varint();  // entries
  (void)reader.byte();    // kind
  (void)reader.varint();  // how many of it
  return reader.byte().value_or(0xff);
}

TEST(Column, IsWrittenInOneShapeWhateverItsNumbersAre) {
  std::mt19937_64 random(4);
  for (int kind = 0; kind < 6; ++kind) {
    Entries entries;
    std::int64_t sum = 0;
    for (std::int64_t i = 0; i < 600; ++i) {
      const auto noise = static_cast<std::int64_t>(random() % 3000);
      sum += noise;
      const std::int64_t numbers[] = {i % 2, noise, sum, 1000 * i, 7, (i / 100) << 21};
      entries.emplace_back(numbers[kind]);
    }
    EXPECT_EQ(shape_in(encode_column(entries)), 5U) << "series " << kind;
  }
}

std::string bytes_of(std::string_view hexadecimal) {
  std::string bytes;
  for (std::size_t i = 0; i < hexadecimal.size(); i += 2) {
    bytes += static_cast<char>(std::stoi(std::string(hexadecimal.substr(i, 2)), nullptr, 16));
  }
  return bytes;
}

/// As earlier versions wrote them, which picked the shortest for each column.
TEST(Column, ReadsEveryShapeThatStandsInOlderFiles) {
  Entries written = numbers({700, 1000, 1300, -2000, 40000, 40300, 40300, 70000});
  written.emplace_back(Absent::failed);
  for (const auto& [shape, block] : std::vector<std::pair<std::string_view, std::string_view>>{
           {"least, varints", "02090008030100ac029f1f090a0b008c018d018d01f0010c9c78e3"},
           {"least, squeezed varints", "02090008030110ac029f1fe3e4e266e861ec05c20f8c00acdd0301"},
           {"least, planes", "02090008030104ac029f1f0100090a0b008c8d8df097d2029e"},
           {"least, packed", "02090008030108ac029f1f08090a0b008c8d8df05a363118"},
           {"last, varints", "02090008030101ac02f80a0002021598020200c601496ad3a3"},
           {"last, squeezed", "02090008030111ac02f80a636062129dc1c4c4708c1100b331e9c6"},
           {"last, planes", "02090008030105ac02f80a020000020215180200c6000000000001000000778af6e8"},
           {"last, packed", "02090008030109ac02f80a09000408a880510000635aa1809d"},
           {"line, varints", "02090008030102ac02f80a00020017ae02950201c6019c382ab6"},
           {"line, squeezed", "02090008030112ac02f80a636062105fc7349589f1182300e3ded20b"},
           {"line, planes", "02090008030106ac02f80a0200000200172e1501c600000000000101000089f754c8"},
           {"line, packed", "0209000803010aac02f80a09000400b8e0b262006316b4c943"}}) {
    const auto read = decode_column(bytes_of(block));
    ASSERT_TRUE(read.has_value()) << shape << ": " << read.error().message();
    EXPECT_EQ(*read, written) << shape;
  }
}

TEST(Column, RefusesEveryBlockWithAFlippedBit) {
  std::mt19937_64 random(3);
  const std::string block = encode_column(random_series(random));
  for (std::size_t bit = 0; bit < block.size() * 8; ++bit) {
    std::string broken = block;
    broken[bit / 8] = static_cast<char>(broken[bit / 8] ^ (1 << (bit % 8)));
    EXPECT_FALSE(decode_column(broken).has_value()) << "bit " << bit;
  }
}

TEST(Column, RefusesEveryBlockThatIsCutOff) {
  const std::string block = encode_column(numbers({1, 2, 4, 8, 16}));
  for (std::size_t size = 0; size < block.size(); ++size) {
    EXPECT_FALSE(decode_column(block.substr(0, size)).has_value()) << size << " bytes";
  }
}

TEST(Column, RefusesALengthThatNoBlockHas) {
  std::string body(1, '\x01');
  put_varint(body, std::uint64_t{1} << 40);
  body += '\x01';
  put_varint(body, std::uint64_t{1} << 40);
  const auto refused = decode_column(sealed(body));
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().code(), ErrorCode::invalid);
}

TEST(Column, RefusesANewerVersionsBlock) {
  const auto refused = decode_column(sealed(std::string("\x03\x00", 2)));
  ASSERT_FALSE(refused.has_value());
  EXPECT_THAT(refused.error().message(), testing::HasSubstr("unknown version"));
}

TEST(Squeezer, GivesBackWhatItSqueezedAgainAndAgain) {
  const Squeezer squeezer(9);
  for (const std::string& text :
       {std::string(), std::string(5000, 'a'), std::string("abc\0d", 5)}) {
    EXPECT_EQ(unsqueezed(squeezer.squeezed(text), text.size()), text);
  }
  EXPECT_LT(squeezer.squeezed(std::string(5000, 'a')).size(), 50U);
}

TEST(Squeezer, RefusesWhatIsCutOffLongerThanToldOrFollowedByMore) {
  const std::string squeezed = Squeezer(9).squeezed("a text and a text and a text");
  EXPECT_EQ(unsqueezed(squeezed.substr(0, squeezed.size() - 1), 100), std::nullopt);
  EXPECT_EQ(unsqueezed(squeezed, 27), std::nullopt);
  EXPECT_EQ(unsqueezed(squeezed + "x", 100), std::nullopt);
  EXPECT_EQ(unsqueezed("\xff\xff", 100), std::nullopt);
}

TEST(Column, GivesTimesBack) {
  const std::vector<std::int64_t> times = {1'700'000'000'003, 1'700'000'001'002, 1'700'000'001'999,
                                           1'600'000'000'000};
  const auto back = decode_times(encode_times(times));
  ASSERT_TRUE(back.has_value());
  EXPECT_EQ(*back, times);
}

TEST(Column, HasNoTimeThatIsAbsent) {
  EXPECT_FALSE(decode_times(encode_column(Entries{Entry(1), Entry(Absent::failed)})).has_value());
}

}  // namespace
}  // namespace berth::history
