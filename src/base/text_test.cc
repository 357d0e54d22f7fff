#include "base/text.h"
#include <ranges>

#include "base/sentence.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/units.h"

namespace berth {
namespace {

using namespace literals;
using namespace std::chrono_literals;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(ParseSize, ReadsUnitsOf1024) {
  EXPECT_EQ(parse_size("10G").value(), 10_GiB);
  EXPECT_EQ(parse_size("512MiB").value(), 512_MiB);
  EXPECT_EQ(parse_size(" 1.5g ").value(), 1536_MiB);
  EXPECT_EQ(parse_size("8000000000").value(), Bytes{8'000'000'000});
}
TEST(ParseSize, RefusesWhatIsNoSize) {
  for (const char* text : {"", "G", "-1G", "1e3", "10X", "1.2.3G", "0x10", "99999999999T"}) {
    EXPECT_FALSE(parse_size(text)) << text;
  }
  EXPECT_THAT(parse_size("１０G").error().message(), HasSubstr("10G"));
}
TEST(ParseDuration, ReadsUnitsAndTheirSums) {
  EXPECT_EQ(parse_duration("90").value(), 90s);
  EXPECT_EQ(parse_duration("1h30m").value(), 90min);
  EXPECT_EQ(parse_duration("250ms").value(), 250ms);
  EXPECT_EQ(parse_duration("1.5s").value(), 1500ms);
  for (const char* text : {"", "h", "5x", "-5s", "1h30x", "99999999999999999999d"}) {
    EXPECT_FALSE(parse_duration(text)) << text;
  }
}
TEST(ParseDuration, WhereANumberAloneWouldBeMisreadItHasAUnit) {
  EXPECT_EQ(parse_duration_with_unit("24h").value(), 24h);
  EXPECT_EQ(parse_duration_with_unit("0").value(), 0s);
  for (const char* text : {"24", " 1.5 "}) {
    const auto bare = parse_duration_with_unit(text);
    ASSERT_FALSE(bare) << text;
    EXPECT_THAT(bare.error().message(), testing::HasSubstr("has no unit; write")) << text;
  }
  EXPECT_THAT(parse_duration_with_unit("24").error().message(), testing::HasSubstr("24m"));
  EXPECT_THAT(parse_duration_with_unit("x").error().message(),
              testing::StrEq("\"x\" is not a duration; write 90s, 5m, 2h or 1h30m"));
  EXPECT_THAT(parse_duration("x").error().message(),
              testing::HasSubstr("1h30m (a number alone is seconds)"))
      << "where it is taken, it is said as what";
}
TEST(ParseNumbers, TakeTheWholeTextOnly) {
  EXPECT_EQ(parse_unsigned("18446744073709551615"), 18446744073709551615ULL);
  EXPECT_EQ(parse_unsigned("18446744073709551616"), std::nullopt);
  EXPECT_EQ(parse_unsigned("+1"), std::nullopt);
  EXPECT_EQ(parse_unsigned("1 "), std::nullopt);
  EXPECT_EQ(parse_signed("-5"), -5);
  EXPECT_EQ(parse_decimal("1.5"), 1.5);
  EXPECT_EQ(parse_decimal("."), std::nullopt);
  EXPECT_EQ(parse_decimal("1e3"), std::nullopt);
}
TEST(Split, KeepsEmptyParts) { EXPECT_THAT(split("a,,b", ','), ElementsAre("a", "", "b")); }
TEST(Joined, HasTheSeparatorBetweenAndNowhereElse) {
  EXPECT_EQ(joined(std::vector<std::string>{}, ", "), "");
  EXPECT_EQ(joined(std::vector<std::string>{"a"}, ", "), "a");
  EXPECT_EQ(joined(std::vector<std::string_view>{"", "b", ""}, ","), ",b,")
      << "an empty one counts";
}
TEST(Joined, TellsNumbersAndWhatIsSaidOfTheRest) {
  const std::vector<int> numbers = {0, 10, -1};
  EXPECT_EQ(joined(numbers, ","), "0,10,-1");
  EXPECT_EQ(joined(numbers, " ", [](int n) { return "<" + std::to_string(n) + ">"; }),
            "<0> <10> <-1>");
  const std::vector<std::pair<int, std::string>> pairs = {{1, "one"}, {2, "two"}};
  EXPECT_EQ(joined(pairs, "; ", &std::pair<int, std::string>::second), "one; two");
  EXPECT_EQ(joined(numbers | std::views::filter([](int n) { return n > 0; }), ","), "10");
}
TEST(NumberBehind, IsThereWhereNothingElseFollows) {
  EXPECT_EQ(number_behind("renderD128", "renderD"), 128U);
  EXPECT_EQ(number_behind("card0-DP-1", "card"), std::nullopt);
  EXPECT_EQ(number_behind("card", "card"), std::nullopt);
  EXPECT_EQ(number_behind("gi3", "ci"), std::nullopt);
}
TEST(TypographicMistake, NamesTheFirstAndCorrectsAll) {
  const auto mistake = typographic_mistake("“0，1”");
  ASSERT_TRUE(mistake);
  EXPECT_EQ(mistake->found, "“");
  EXPECT_EQ(mistake->corrected, "\"0,1\"");
  EXPECT_FALSE(typographic_mistake("0,1 中文"));
}
TEST(TypographicHint, SuggestsWhatIsRightWhereverItIsTyped) {
  const Sentence hint = with_typographic_hint(Sentence("no"), "“１0G”");
  EXPECT_EQ(hint.english(), "no; it has \"“\" where an ASCII character is meant: try \"10G\"");
  EXPECT_EQ(with_typographic_hint(Sentence("no"), "10X").english(), "no");
}
TEST(PrintableJson, EscapesWhatATerminalWouldObeyAndReadsBackAsTheSame) {
  EXPECT_EQ(printable_json("{\"a\": \"b\"}\n"), "{\"a\": \"b\"}\n");
  EXPECT_EQ(printable_json("\"空闲 é\""), "\"空闲 é\"");
  EXPECT_EQ(printable_json("\"\x7F\xC2\x9B"
                           "31m\""),
            "\"\\u007f\\u009b31m\"");
  EXPECT_EQ(printable_json("\"a\xE2\x80\xAE"
                           "b\""),
            "\"a\\u202eb\"");
  EXPECT_EQ(printable_json("\"\xF3\xA0\x80\x81\""), "\"\\udb40\\udc01\"")
      << "beyond 16 bits: a tag";
  EXPECT_EQ(printable_json("\"\xFF\""), "\"\xFF\"") << "not UTF-8: its writer has to say";
}

TEST(Printable, EscapesWhatMovesTheCursor) {
  EXPECT_EQ(printable("a\x1b[31m\n"), "a\\x1B[31m\\x0A");
  EXPECT_EQ(printable("\xFF"), "\\xFF");
  EXPECT_EQ(printable("a\u202Eb"), "a\\u{202E}b");
  for (const char* hidden :
       {"\u200B", "\u2060", "\u2064", "\u206F", "\uFFF9", "\uFFFB", "\u180E", "\u00AD", "\u034F",
        "\u115F", "\u3164", "\uFE01", "\U000E0172", "\U0001D173"}) {
    EXPECT_EQ(printable(hidden).substr(0, 3), "\\u{") << "nobody would see it";
  }
  EXPECT_EQ(printable("👩\u200D🔬"), "👩\u200D🔬") << "joins what is seen";
  EXPECT_EQ(printable("中文 é"), "中文 é");
}
TEST(DisplayWidth, CountsEastAsianCharactersTwice) {
  EXPECT_EQ(display_width("ab"), 2);
  EXPECT_EQ(display_width("显卡"), 4);
  EXPECT_EQ(display_width("e\u0301"), 1);
}
TEST(DisplayWidth, IsThatOfPictogramsAndMarksOfAllScripts) {
  for (const char* wide : {"⭐", "✨", "⏳", "❓", "⛔", "🆗", "🀄", "🚀", "한", "ｆ"}) {
    EXPECT_EQ(display_width(wide), 2) << wide;
  }
  for (const char* narrow : {"🌡", "🏎", "🎙", "é", "→", "ﾊ", "ก", "ب"}) {
    EXPECT_EQ(display_width(narrow), 1) << narrow;
  }
  for (const char* mark : {"\u0E31", "\u0670", "\u05BF", "\u0941", "\u200D", "\uFE0F"}) {
    EXPECT_EQ(display_width("x" + std::string(mark)), 1) << mark;
  }
}
TEST(ValidUtf8, HasASignForEachByteThatIsNone) {
  EXPECT_EQ(valid_utf8("a\xFFé\xE2\x82"), "a\uFFFDé\uFFFD\uFFFD");
  EXPECT_EQ(valid_utf8("显卡"), "显卡");
}
TEST(IsPlainAscii, IsTrueOfWhatComesOutOfPrintableAsItIsInAsManyColumns) {
  for (int byte = 0; byte < 256; ++byte) {
    const std::string text = {'a', static_cast<char>(byte), 'z'};
    EXPECT_EQ(is_plain_ascii(text), byte >= 0x20 && byte < 0x7F) << byte;
    if (is_plain_ascii(text)) {
      EXPECT_EQ(printable(text), text);
    }
  }
  EXPECT_TRUE(is_plain_ascii(""));
}
TEST(PlainCharacterBytes, IsTheLengthOfAHarmlessCharacterOfOneColumn) {
  const auto utf8 = [](unsigned point) {
    if (point < 0x80) return std::string(1, static_cast<char>(point));
    if (point < 0x800) {
      return std::string{static_cast<char>(0xC0 | (point >> 6)),
                         static_cast<char>(0x80 | (point & 0x3F))};
    }
    return std::string{static_cast<char>(0xE0 | (point >> 12)),
                       static_cast<char>(0x80 | ((point >> 6) & 0x3F)),
                       static_cast<char>(0x80 | (point & 0x3F))};
  };
  const auto is_plain = [](unsigned point) {
    return (point >= 0x20 && point < 0x7F) || (point >= 0xA0 && point <= 0xFF && point != 0xAD) ||
           (point >= 0x2010 && point <= 0x2027) || (point >= 0x2500 && point <= 0x259F) ||
           (point >= 0x2800 && point <= 0x28FF);
  };
  for (unsigned point = 0; point < 0xD800; ++point) {
    const std::string character = utf8(point);
    ASSERT_EQ(plain_character_bytes(character + "x"), is_plain(point) ? character.size() : 0)
        << std::hex << point;
    if (!is_plain(point)) continue;
    // By the tables, which a mark behind it makes them look into.
    ASSERT_EQ(printable(character + "\u0301"), character + "\u0301");
    ASSERT_EQ(display_width("a" + character + "中"), 4);
  }
  for (const char* text : {"", "\xC2", "\xC2x", "\xC2\x9F", "\xE2", "\xE2\xA0", "\xE2\xA0x",
                           "\xE2\xA4\x80", "\xE2\x80\xA8"}) {
    EXPECT_EQ(plain_character_bytes(text), 0U) << text;
  }
}
TEST(CutToWidth, NeverExceedsTheColumns) {
  EXPECT_EQ(cut_to_width("abcdef", 4, false), "abc…");
  EXPECT_EQ(cut_to_width("abcdef", 4, true), "a...");
  EXPECT_EQ(end_of_width("abcdef", 4), "cdef");
  EXPECT_EQ(end_of_width("显卡显", 5), "卡显") << "a character is whole or not there";
  EXPECT_EQ(cut_to_width("显卡显卡", 4, false), "显…");
  for (int columns = 0; columns < 8; ++columns) {
    EXPECT_LE(display_width(cut_to_width("显卡abc显", columns, true)), columns);
  }
}
TEST(ShellQuoted, IsSafeToPaste) {
  EXPECT_EQ(shell_joined({"a", "b c", "it's", "", "*"}), "a 'b c' 'it'\\''s' '' '*'");
}
TEST(ShortSize, RoundsWithoutEverSaying1024MiB) {
  EXPECT_EQ(short_size(0_B), "0");
  EXPECT_EQ(short_size(512_MiB), "512 MiB");
  EXPECT_EQ(short_size(Bytes{(1ULL << 30) - 1}), "1.0 GiB");
  EXPECT_EQ(short_size(80_GiB), "80.0 GiB");
  EXPECT_EQ(short_size(1_B), "1 KiB");
}
TEST(ShortDuration, HasTwoUnitsAtMost) {
  EXPECT_EQ(short_duration(45s), "45s");
  EXPECT_EQ(short_duration(2h + 3min + 9s), "2h03m");
  EXPECT_EQ(short_duration(76h), "3d04h");
}
TEST(NumberInLines, IsOfTheWholeKey) {
  constexpr std::string_view status =
      "Name:\tVmRSS:\t1\nVmRSSX:\t3 kB\nVmRSS:\t  42 kB\nUid:\t7\t8\n";
  EXPECT_EQ(number_in_lines(status, "VmRSS"), 42U);
  EXPECT_EQ(number_in_lines(status, "Uid"), 7U);
  EXPECT_EQ(number_in_lines(status, "Name"), std::nullopt);
  EXPECT_EQ(number_in_lines(status, "Vm"), std::nullopt);
  EXPECT_EQ(value_in_lines("home = /usr/bin\n", "home", '='), "/usr/bin");
}
TEST(HashOf, IsFnv1a) {
  EXPECT_EQ(hash_of(""), 0xcbf29ce484222325U);
  EXPECT_EQ(hash_of("foobar"), 0x85944171f73967e8U);
  EXPECT_EQ(hash_of("bar", hash_of("foo")), hash_of("foobar"));
}
TEST(ParseHex, TakesDigitsAlone) {
  EXPECT_EQ(parse_hex("10dE"), 0x10deU);
  EXPECT_EQ(parse_hex("ffffffffffffffff"), ~std::uint64_t{0});
  for (const char* wrong : {"", "-1", "+1", "0x1", "1g", " 1", "1ffffffffffffffff"}) {
    EXPECT_FALSE(parse_hex(wrong)) << wrong;
  }
}
TEST(NumbersInList, AreReadAndWrittenAsTheKernelDoes) {
  EXPECT_THAT(*numbers_in_list("0-2,8,5-6,6\n"), testing::ElementsAre(0, 1, 2, 5, 6, 8));
  EXPECT_EQ(number_list({0, 1, 2, 5, 8, 9}), "0-2,5,8-9");
  EXPECT_EQ(number_list({}), "");
  for (const char* wrong : {"", "a", "0-", "3-1", "1-2-3", "0-99999999999", "1,", "-1", "0 1"}) {
    EXPECT_FALSE(numbers_in_list(wrong)) << wrong;
  }
  std::string again = "0-65535";
  for (int i = 0; i < 100; ++i) again += ",0-65535";
  EXPECT_FALSE(numbers_in_list(again));
}
TEST(NestingDepth, IgnoresBracketsInTexts) {
  EXPECT_EQ(nesting_depth(R"({"a":[1,{"b":"[[[\"[["}]})"), 3);
  EXPECT_EQ(nesting_depth("]]]"), 0);
}
TEST(MaskedText, HidesSecretsHoweverTheyAreGiven) {
  for (const char* text :
       {"--password=hunter2", "TOKEN=hunter2", "HF_TOKEN=hunter2", "wandb.api-key=hunter2",
        "AWS_SECRET_ACCESS_KEY=hunter2", "https://ann:hunter2@host/x", "--proxy=http://a:hunter2@h",
        "postgres://ann:hunter2@db:5432/x?y=z", "--index-url=https://:hunter2@host/simple"}) {
    EXPECT_THAT(masked_text(text), ::testing::Not(HasSubstr("hunter2"))) << text;
    EXPECT_THAT(masked_text(text), HasSubstr("***")) << text;
  }
  for (const char* text : {"hf_abcdefghijklmnop", "sk-abcdefghijklmnop", "ghp_abcdefghijklmnop",
                           "AKIAABCDEFGHIJKLMNOP"}) {
    EXPECT_EQ(masked_text(text), "***");
    EXPECT_EQ(masked_text("x=" + std::string(text)), "x=***");
  }
}
TEST(MaskedText, KeepsWhatIsNoSecret) {
  for (const char* text :
       {"TOKENIZERS_PARALLELISM=false", "--max_tokens=512", "--max-new-tokens=5",
        "--tokenizer=gpt2", "max_token_len=77", "--author=ann", "sk-learn", "hf_hub",
        "https://host:8080/a@b", "lr=1e-3", "ssh://git@host/x", "TOKEN=", "=x", ""}) {
    EXPECT_EQ(masked_text(text), text);
  }
}
TEST(MaskedCommand, HidesTheWordBehindAnOptionAlone) {
  EXPECT_EQ(masked_command({"curl", "--token", "--verbose", "--api-key", "k", "url"}),
            (std::vector<std::string>{"curl", "--token", "--verbose", "--api-key", "***", "url"}));
  EXPECT_EQ(masked_command({"x", "--token"}), (std::vector<std::string>{"x", "--token"}));
  EXPECT_EQ(masked_command({"curl", "-H", "Authorization: Bearer hunter2"}).back(),
            "Authorization: ***");
}
TEST(MaskedCommand, HidesSecretsInACommandWithinAWord) {
  EXPECT_EQ(masked_text("cd x && A=1 API_KEY=k python y --token t  z https://a:b@c d"),
            "cd x && A=1 API_KEY=*** python y --token ***  z https://a:***@c d");
  EXPECT_EQ(masked_text("https://ghp_abcdefghijklmnop@host/x"), "https://***@host/x");
}
TEST(MaskedCommand, HidesSecretsAndNothingElse) {
  EXPECT_EQ(masked_command({"run", "--token", "abc", "--max_tokens", "5", "API_KEY=x", "lr=1"}),
            (std::vector<std::string>{"run", "--token", "***", "--max_tokens", "5", "API_KEY=***",
                                      "lr=1"}));
  EXPECT_EQ(masked_text("https://bob:pw@host/x"), "https://bob:***@host/x");
}
TEST(MaskedText, LooksBehindEverySign) {
  EXPECT_EQ(masked_text("--env=HF_TOKEN=hunter2 x"), "--env=HF_TOKEN=***");
  EXPECT_EQ(masked_text("--env=X=hf_abcdefghijklmnop"), "--env=X=***");
  EXPECT_EQ(masked_text("a:api_key=hunter2"), "a:api_key=***");
  for (const char* text :
       {"--header=Authorization: Bearer hunter2", "--config={\"api_key\":\"a hunter2\"}",
        "CUDA_ACCOUNT_KEY=hunter2", "cd x && export API_KEY='a hunter2' && y",
        "curl -u me:hunter2 url", "http://h:80,http://b:hunter2@h2", "https://u:a/hunter2@host/x",
        "https://u:p@h https://u:hunter2@h", "Cookie: id=1; sid=hunter2",
        "-----BEGIN RSA PRIVATE KEY-----\nhunter2\n"}) {
    EXPECT_THAT(masked_text(text), ::testing::Not(HasSubstr("hunter2"))) << text;
  }
}
TEST(MaskedCommand, HidesPasswordsOfCurlAndLogins) {
  EXPECT_EQ(masked_command({"/usr/bin/curl", "-u", "me:hunter2", "-s"}),
            (std::vector<std::string>{"/usr/bin/curl", "-u", "me:***", "-s"}));
  EXPECT_EQ(masked_command({"docker", "login", "-p", "hunter2"}).back(), "***");
  EXPECT_EQ(masked_command({"sshpass", "-phunter2", "ssh"})[1], "-p***");
  EXPECT_EQ(masked_command({"docker", "run", "-e", "HF_TOKEN=hunter2", "-p", "80:80"}),
            (std::vector<std::string>{"docker", "run", "-e", "HF_TOKEN=***", "-p", "80:80"}));
}

TEST(MaskedCommand, HidesKeysOfOptionsByTheirLastWord) {
  for (const char* option :
       {"--wandb-key", "--openai-key",  "--pwd",       "--pw",       "--jwt",
        "--azure-key", "--account-key", "--comet-key", "--ngc-key",  "--encryption-key",
        "--s3-key",    "--hf_key",      "--wandb_key", "--key",      "--license-key",
        "--pat",       "--gh-pat",      "--sas",       "--session",  "--dsn",
        "--creds",     "--sshpass",     "--pin",       "--wandbkey", "--connection-string",
        "--webhook",   "--webhook-url", "--my-key"}) {
    const std::string name = option;
    EXPECT_THAT(masked_command({"x", name, "AB12cd"}), ElementsAre("x", name, "***"));
    EXPECT_THAT(masked_command({"x", name + "=AB12cd"}), ElementsAre("x", name + "=***"));
    EXPECT_EQ(masked_text("x " + name + " AB12cd -v"), "x " + name + " *** -v");
  }
  EXPECT_EQ(masked_text("logger.wandb_key=AB12cd"), "logger.wandb_key=***");
  EXPECT_EQ(masked_text("AccountName=a;AccountKey=AB12cd=="), "AccountName=a;AccountKey=***");
  EXPECT_THAT(masked_command({"x", "--pin", "4711"}), ElementsAre("x", "--pin", "***"));
}
TEST(MaskedCommand, KeepsKeysThatAreColumnsNumbersAndFiles) {
  for (const char* words : {"--key-dim 64",
                            "--num-keys 8",
                            "--n_kv_head 4",
                            "--monkey AB12",
                            "--keyframe AB12",
                            "--session-length 2048",
                            "--pin-memory true",
                            "--pin-memory True",
                            "--keep AB12",
                            "--key 2",
                            "--sequence-key text",
                            "--image-key image_1",
                            "--sort-key f1",
                            "--key observation.images.top",
                            "--label_key label",
                            "--key /etc/ssl/host1.pem",
                            "--pwd /data/a1",
                            "--creds key1.json",
                            "--session main",
                            "--pat *.py1",
                            "--pin 2",
                            "--pin true",
                            "--key $KEY1",
                            "--hidden-pattern A1",
                            "--key server1.key"}) {
    const std::string text = words;
    const std::string option = text.substr(0, text.find(' '));
    const std::string value = text.substr(text.find(' ') + 1);
    EXPECT_THAT(masked_command({"x", option, value}), ElementsAre("x", option, value));
    EXPECT_EQ(masked_text(option + "=" + value), option + "=" + value);
  }
  for (const char* text : {"key=value1", "KeyError: 'Layer1'", "Unexpected key: layer1.weight",
                           "n_kv_head=4", "mean_token_accuracy=0.91", "auth_loss: 0.5,",
                           "the password is required", "PWD=/data/a1", "session: K3f9q2"}) {
    EXPECT_EQ(masked_text(text), text);
  }
}
TEST(MaskedText, HidesWhatFollowsTheHostOfAHook) {
  EXPECT_EQ(masked_command({"x", "https://hooks.slack.com/services/T0/B0/xyz"}).back(),
            "https://hooks.slack.com/***");
  EXPECT_EQ(masked_text("URL=https://discord.com/api/webhooks/1/ab -v"),
            "URL=https://discord.com/api/webhooks/*** -v");
  EXPECT_EQ(masked_text("see https://hooks.slack.com/ there"),
            "see https://hooks.slack.com/ there");
}
TEST(MaskedText, LooksThroughColours) {
  EXPECT_EQ(masked_text("\x1b[33mapi_key\x1b[0m=\x1b[32m'hunter2'\x1b[0m"), "api_key='***'");
  EXPECT_EQ(masked_text("token\x1b[0m: hunter2"), "token: ***");
  EXPECT_EQ(masked_text("\x1b[1;32mhf_abcdefghijklmnop\x1b[0m"), "***");
  EXPECT_EQ(masked_text("\\x1b[33mapi_key\\x1b[0m=hunter2"), "api_key=***");
  EXPECT_EQ(masked_text("\x1b[33mloss\x1b[0m=2"), "\x1b[33mloss\x1b[0m=2");
}
TEST(MaskedText, HidesWhatASentenceSaysThePasswordIs) {
  EXPECT_EQ(masked_text("password is hunter22"), "password is ***");
  EXPECT_EQ(masked_text("so the password was hunter22 then"), "so the password was *** then");
  EXPECT_EQ(masked_text("my API key is hunter22"), "my API key is ***");
  EXPECT_EQ(masked_text("password hunter22"), "password ***");
}

}  // namespace
}  // namespace berth
