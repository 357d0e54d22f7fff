#include "serve/http_reply.h"

#include <gmock/gmock.h>

#include "serve/outgoing.h"

namespace berth::serve {
namespace {

using ::testing::HasSubstr;

/// Feeds it in pieces of `step` bytes and says that nothing more comes.
Result<HttpReply> read(std::string_view text, std::size_t step = 1, std::size_t most = 1 << 20,
                       Method asked = Method::get) {
  ReplyReader reader(asked, most);
  for (; !text.empty(); text.remove_prefix(std::min(step, text.size()))) {
    const auto whole = reader.feed(text.substr(0, step));
    if (!whole) return std::unexpected(whole.error());
    if (*whole) return reader.take();
  }
  const auto end = reader.end();
  if (!end) return std::unexpected(end.error());
  return reader.take();
}

std::string with_length(std::string_view body, std::string_view headers = "") {
  return "HTTP/1.1 200 OK\r\n" + std::string(headers) +
         "content-length: " + std::to_string(body.size()) + "\r\n\r\n" + std::string(body);
}

TEST(ReplyReader, ReadsStatusHeadersAndBodyByteByByte) {
  const auto reply = read(with_length("{}", "ETag: \"a\"\r\n"));
  ASSERT_TRUE(reply) << reply.error().message();
  EXPECT_EQ(reply->status, 200);
  EXPECT_EQ(header_of(*reply, "etag"), "\"a\"");
  EXPECT_EQ(reply->body, "{}");
}

TEST(ReplyReader, IsWholeWhenTheLengthIsThere) {
  ReplyReader reader(Method::get, 100);
  EXPECT_EQ(reader.feed(with_length("12345")).value_or(false), true);
}

TEST(ReplyReader, PutsChunksTogether) {
  const auto reply = read(
      "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n", 7);
  ASSERT_TRUE(reply) << reply.error().message();
  EXPECT_EQ(reply->body, "abcde");
}

TEST(ReplyReader, ReadsUntilTheEndWhereNoLengthIsSaid) {
  const auto reply = read("HTTP/1.0 200 OK\r\n\r\nabc");
  ASSERT_TRUE(reply) << reply.error().message();
  EXPECT_EQ(reply->body, "abc");
}

TEST(ReplyReader, WantsNoBodyOfWhatIsNotModified) {
  const auto reply = read("HTTP/1.1 304 Not Modified\r\netag: \"a\"\r\n\r\n");
  ASSERT_TRUE(reply) << reply.error().message();
  EXPECT_EQ(reply->status, 304);
}

TEST(ReplyReader, WantsNoBodyOfAnAnswerToHead) {
  const auto reply = read("HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\n", 1, 1 << 20, Method::head);
  ASSERT_TRUE(reply) << reply.error().message();
  EXPECT_EQ(reply->body, "");
}

TEST(ReplyReader, UnpacksGzip) {
  const std::string packed = gzipped("hello, hello, hello");
  const auto reply = read(with_length(packed, "Content-Encoding: gzip\r\n"), 3);
  ASSERT_TRUE(reply) << reply.error().message();
  EXPECT_EQ(reply->body, "hello, hello, hello");
}

TEST(ReplyReader, StopsUnpackingAtTheLimit) {
  const std::string bomb = gzipped(std::string(std::size_t{50'000'000}, '\0'));
  ASSERT_LT(bomb.size(), std::size_t{100'000});
  const auto reply = read(with_length(bomb, "Content-Encoding: gzip\r\n"), 1 << 14, 1 << 20);
  ASSERT_FALSE(reply);
  EXPECT_EQ(reply.error().message(), "the answer cannot be unpacked: larger than 1048576 bytes");
}

TEST(ReplyReader, RefusesGzipThatIsNone) {
  EXPECT_FALSE(read(with_length("not packed", "Content-Encoding: gzip\r\n")));
}

TEST(ReplyReader, RefusesGzipThatIsCutOff) {
  std::string packed = gzipped("hello, hello, hello");
  packed.resize(packed.size() / 2);
  EXPECT_FALSE(read(with_length(packed, "Content-Encoding: gzip\r\n")));
}

TEST(ReplyReader, RefusesAPackingThatItDidNotAskFor) {
  const auto reply = read(with_length("x", "Content-Encoding: br\r\n"));
  ASSERT_FALSE(reply);
  EXPECT_THAT(reply.error().message(), HasSubstr("br"));
}

TEST(ReplyReader, RefusesABodyThatIsAnnouncedTooLarge) {
  const auto reply = read("HTTP/1.1 200 OK\r\ncontent-length: 2000\r\n\r\n", 1, 1000);
  ASSERT_FALSE(reply);
  EXPECT_EQ(reply.error().message(), "the answer is larger than 1000 bytes");
}

TEST(ReplyReader, RefusesABodyThatBecomesTooLarge) {
  const auto reply = read("HTTP/1.1 200 OK\r\n\r\n" + std::string(5000, 'x'), 100, 1000);
  ASSERT_FALSE(reply);
  EXPECT_EQ(reply.error().message(), "the answer is larger than 1000 bytes");
}

TEST(ReplyReader, RefusesAnAnswerThatEndsBeforeItsLength) {
  const auto reply = read("HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\nabc");
  ASSERT_FALSE(reply);
  EXPECT_EQ(reply.error().message(), "the answer was cut off");
}

TEST(ReplyReader, SaysWhenNothingCameAtAll) {
  const auto reply = read("");
  ASSERT_FALSE(reply);
  EXPECT_EQ(reply.error().message(), "the connection was closed without an answer");
}

/// What `endless` goes on with until the reader has had enough of it, or 10 MB have been taken.
Result<bool> feed_without_end(std::string_view begin, std::string_view endless) {
  ReplyReader reader(Method::get, 100'000);
  auto state = reader.feed(begin);
  for (std::size_t fed = 0; state && !*state && fed < 10'000'000; fed += endless.size()) {
    state = reader.feed(endless);
  }
  return state;
}

TEST(ReplyReader, StopsAtHeadersThatNeverEnd) {
  const auto state = feed_without_end("HTTP/1.1 200 OK\r\n", "a-header: with a value\r\n");
  ASSERT_FALSE(state);
  EXPECT_EQ(state.error().message(), "the headers of the answer are larger than 16 KiB");
}

TEST(ReplyReader, StopsAtAHeaderThatNeverEnds) {
  EXPECT_FALSE(feed_without_end("HTTP/1.1 200 OK\r\na: ", "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"));
}

TEST(ReplyReader, StopsAtAStatusLineThatNeverEnds) {
  EXPECT_FALSE(feed_without_end("HTTP/1.1 200 ", "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"));
}

TEST(ReplyReader, StopsAtAChunkExtensionThatNeverEnds) {
  EXPECT_FALSE(feed_without_end("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n3;a=",
                                "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"));
}

TEST(ReplyReader, StopsAtTrailersThatNeverEnd) {
  EXPECT_FALSE(feed_without_end(
      "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n1\r\na\r\n0\r\n", "a: b\r\n"));
}

TEST(ReplyReader, RefusesWhatIsNoHttp) {
  for (const char* text : {"SSH-2.0-OpenSSH_9.2\r\n", "\x15\x03\x01\x00\x02\x02\x28", "{}\r\n\r\n",
                           "HTTP/1.1 20 OK\r\n\r\n", "HTTP/9.9 200 OK\r\n\r\n"}) {
    EXPECT_FALSE(read(text)) << text;
  }
}

TEST(ReplyReader, TakesNoInterimAnswerForAnAnswer) {
  EXPECT_FALSE(read("HTTP/1.1 100 Continue\r\n\r\n"));
}

TEST(ReplyReader, SkipsInterimAnswers) {
  const std::string before =
      "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nlink: </a>\r\n\r\n";
  for (const std::size_t step : {std::size_t{1}, std::size_t{9}, std::size_t{1000}}) {
    const auto reply = read(before + with_length("ok"), step);
    ASSERT_TRUE(reply) << reply.error().message();
    EXPECT_EQ(reply->status, 200);
    EXPECT_EQ(header_of(*reply, "link"), std::nullopt);
    EXPECT_EQ(reply->body, "ok");
  }
  EXPECT_FALSE(read("HTTP/1.1 101 Switching Protocols\r\n\r\n" + with_length("ok")));
  ReplyReader endless(Method::get, 1000);
  bool goes_on = true;
  for (int i = 0; i < 10'000 && goes_on; ++i) goes_on = endless.feed(before).has_value();
  EXPECT_FALSE(goes_on);
}

/// Reads for a caller that wants the status alone.
Result<HttpReply> status_of(std::string_view text, std::size_t step = 1 << 14) {
  ReplyReader reader(Method::post, 1000, WantedOfReply::status);
  for (; !text.empty(); text.remove_prefix(std::min(step, text.size()))) {
    const auto whole = reader.feed(text.substr(0, step));
    if (!whole) return std::unexpected(whole.error());
    if (*whole) return reader.take();
  }
  return fail(ErrorCode::timeout, "it waits for more");
}

TEST(StatusOfReply, IsThereWithTheHeadersWhateverStandsBehindThem) {
  const std::string large = "<html>" + std::string(70'000, 'x');
  for (const std::string& text :
       {with_length(large), "HTTP/1.1 200 OK\r\n\r\n" + large,
        with_length("ok", "content-encoding: br\r\n"),
        with_length("no gzip", "content-encoding: gzip\r\n"),
        std::string("HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\nx"),
        std::string("HTTP/1.1 200 OK\r\ncontent-length: 999999999999999\r\n\r\n"),
        std::string("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nno chunk"),
        std::string("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\n")}) {
    for (const std::size_t step : {std::size_t{1}, std::size_t{1} << 14}) {
      const auto reply = status_of(text, step);
      ASSERT_TRUE(reply) << reply.error().message() << ": " << text.substr(0, 80);
      EXPECT_EQ(reply->status, 200);
    }
  }
  EXPECT_FALSE(status_of("HTTP/1.1 200 OK\r\ncontent-le")) << "the headers have an end";
}

}  // namespace
}  // namespace berth::serve
