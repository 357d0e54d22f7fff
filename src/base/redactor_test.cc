#include "base/redactor.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace berth {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

Redactor redactor() {
  return Redactor({.home = "/home/mira",
                   .user = "mira",
                   .hosts = {"node7.example.org"},
                   .users = {"otto", "otto-lab", "mira", "root"}});
}

TEST(Redactor, MasksSecretsHoweverTheyAreWritten) {
  const char* const secret = "S3cr3tValue";
  for (const char* line : {
           "WANDB_API_KEY=S3cr3tValue",
           "AWS_SECRET_ACCESS_KEY=S3cr3tValue",
           "export HF_TOKEN='S3cr3tValue'",
           "token = \"S3cr3tValue\"",
           "  \"password\": \"S3cr3tValue\",",
           "{\"command\": [\"train.py\", \"--api-key\", \"S3cr3tValue\"]}",
           "python x.py --password S3cr3tValue --epochs 3",
           "python x.py --password=S3cr3tValue",
           "Authorization: Bearer S3cr3tValue",
           "curl -H \"X-Api-Key: S3cr3tValue\"",
           "wandb login S3cr3tValue",
           "https://mira:S3cr3tValue@github.com/x.git",
           "https://S3cr3tValue@github.com/x.git",
           "origin=https://oauth2:S3cr3tValue@gitlab.example.org/x.git (fetch)",
           "url = \"https://hooks.slack.com/services/S3cr3tValue\"",
           "https://oapi.dingtalk.com/robot/send?access_token=S3cr3tValue",
           "https://qyapi.weixin.qq.com/cgi-bin/webhook/send?key=S3cr3tValue",
       }) {
    Redactor one = redactor();
    EXPECT_THAT(one.cleaned(line), Not(HasSubstr(secret))) << line;
    EXPECT_GE(one.secrets(), 1U) << line;
  }
}

TEST(Redactor, MasksWhatLooksLikeAKeyWithoutAName) {
  for (const char* line :
       {"hf_abcdefghijklmnopqrstuv", "x AKIAIOSFODNN7EXAMPLE y", "ghp_0123456789abcdef0123",
        "\"eyJhbGciOiJIUzI1NiJ9.e30.abc\"", "key 0123456789abcdef0123456789abcdef01234567",
        "v9Kd82Lq0ZxPw7Rt5Yh3Mn6Bc1Vf4Gj8s"}) {
    EXPECT_THAT(redactor().cleaned(line), HasSubstr("***")) << line;
  }
  const std::string key =
      "a\n-----BEGIN OPENSSH PRIVATE KEY-----\nb3BlbnNz\n-----END OPENSSH "
      "PRIVATE KEY-----\nz";
  EXPECT_EQ(redactor().cleaned(key), "a\n***\n***\n***\nz");
}

TEST(Redactor, LeavesWhatADeveloperNeeds) {
  for (const char* line :
       {"\"driver_version\": \"590.48.01\",", "GPU-5c5a2b1e-0000-4000-8000-000000000000",
        "max_tokens=4096 tokenizer=bpe", "NVRM: Xid (PCI:0000:3b:00): 79, pid=1234",
        "\"memory_total_bytes\": 85520809984,", "CUDA_VISIBLE_DEVICES=0,1",
        "https://docs.nvidia.com/deploy/xid-errors/", "\"author\": null",
        "00000000:3b:00.0 10de:2330", "20251121-014946-k3f9q2 exit 1"}) {
    EXPECT_EQ(redactor().cleaned(line), line);
  }
}

TEST(Redactor, GivesEverybodyTheSameNameEverywhere) {
  Redactor one = redactor();
  EXPECT_EQ(one.cleaned("/home/mira/x /home/mira2/x"), "~/x /home/mira2/x");
  EXPECT_EQ(one.cleaned("mira otto otto-lab root /home/otto/y"),
            "me user1 user2 root /home/user1/y");
  EXPECT_EQ(one.cleaned("node7 node7.example.org node70"), "host host node70");
  EXPECT_EQ(one.cleaned("\"otto\": \"otto\""), "\"otto\": \"user1\"");
  EXPECT_EQ(one.names(), 8U);
}

TEST(Redactor, MasksAValueToItsEnd) {
  for (const char* line : {
           "BERTH_PASSWORD=Ab,TAIL;x TAIL",
           "HF_TOKEN=part TAIL",
           "export HF_TOKEN=part TAIL",
           "password = \"a,TAIL more TAIL\"",
           "password =TAIL",
           "{\"x\":1,\"password\":123TAIL,\"y\":2}",
           "{\"password\": \"a\\\"b TAIL\", \"y\": 2}",
           "{'token': 'a b;TAIL', 'lr': 1}",
           "\"env\": \"X={\\\"api_key\\\": \\\"a TAIL\\\"}\"",
           "MODEL_CONFIG={\"api_key\":\"a (TAIL\",\"lr\":1}",
           "docker run --env=HF_TOKEN=hf_TAIL image",
           "a:api_key=TAIL8",
           "curl -u me:TAIL7 http://h",
           "curl -s --user 'me:a TAIL' http://h",
           "[\"curl\", \"-u\", \"me:TAIL\"]",
           "Cookie: id=5; sid=TAILB",
           "curl -H \"Cookie: id=5; sid=TAIL\" http://h",
           "Authorization: Digest username=\"x\", response=\"TAIL\"",
           "CUDA_ACCOUNT_KEY=TAIL9",
           "python x.py --password \"a TAIL\" --epochs 3",
           "[\"train.py\", \"--api-key\", \"a, TAIL\"]",
           "docker login -u me -p TAIL registry",
           "sshpass -pTAIL ssh host",
           "machine api.wandb.ai login user password TAIL",
           "CUDA_PROXY=http://me:p;TAIL6@proxy",
           "url = \"https://u:ab(cdTAIL1@host/x\"",
           "https://u:a/b?TAIL@host/x",
           "http://h:80,http://b:TAIL@h2/",
           "https://host/hook?a=1,TAIL",
       }) {
    Redactor one = redactor();
    EXPECT_THAT(one.cleaned(line), Not(HasSubstr("TAIL"))) << line;
    EXPECT_GE(one.secrets(), 1U) << line;
  }
}

TEST(Redactor, MasksAKeyByItsLookWhateverStandsBeforeIt) {
  const char* const jwt = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.dBjftJeZ4CVPmB92K27uhbUJU1p";
  for (const std::string& line : std::vector<std::string>{
           "--env=X=hf_abcdefghij0123456789", "=ghp_abcdefghij0123456789",
           ":sk-proj-abcdefghij0123", "a=b:c=AKIAIOSFODNN7EXAMPLE", "(AKIAIOSFODNN7EXAMPLE)",
           "/mnt/sk-abcdefghij0123456789/x", "x=wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY",
           "jwt|" + std::string(jwt)}) {
    const std::string clean = redactor().cleaned(line);
    EXPECT_THAT(clean, HasSubstr("***")) << line;
    EXPECT_THAT(clean, Not(HasSubstr(line.substr(line.size() - 8)))) << line << "\n" << clean;
  }
}

TEST(Redactor, KeepsJsonReadableAroundASecret) {
  EXPECT_EQ(redactor().cleaned(R"({"token":"a, b","lr":0.1,"auth":{"user":"x"},"password":12})"),
            R"({"token":"***","lr":0.1,"auth":{"user":"x"},"password":***})");
  EXPECT_EQ(redactor().cleaned(R"(["x","--api-key","k","--lr","1"])"),
            R"(["x","--api-key","***","--lr","1"])");
  EXPECT_EQ(redactor().cleaned(R"({"url":"https://u:p@host/x","n":1})"),
            R"({"url":"https://***@host/***","n":1})");
}

TEST(Redactor, LeavesPathsTimesMarksAndAssignments) {
  for (const char* line :
       {"X=1 Y=2 python train.py --lr=0.1 --epochs 3", "step=10 loss=0.12 lr=1e-3 12:30:05",
        "LD_LIBRARY_PATH=/usr/local/cuda/lib64:/opt/nccl/lib", "mkdir -p /data/out; cp -u a:b c",
        "docker run -p 8080:80 -u 1000:1000 image@sha256:1234", "curl -u 1000:1000 -s x",
        "XDG_CONFIG_DIRS=/etc/xdg:/usr/share", "it's 5\" wide: don't cut, \"quoted\" text",
        "/opt/hf_model_weights_only/x.bin", "http://127.0.0.1:8080/", "std::auth::check(x)",
        "\"token_count\": null, \"auth\": false", "http://auth.example.org:8080",
        "Nov 21 12:00:05 node kernel: NVRM: loading 590.48.01"}) {
    EXPECT_EQ(redactor().cleaned(line), line);
  }
}

TEST(Redactor, MergesNobody) {
  Redactor one({.home = "/home/me2",
                .user = "me2",
                .hosts = {"gpu1"},
                .users = {"user1", "user2", "host", "me", "12345"}});
  EXPECT_EQ(one.cleaned("user1 user2 host me me2 gpu1 12345"),
            "user3 user4 user5 user6 me host 12345");
  Redactor number({.home = "/home/4711", .user = "4711", .hosts = {"100"}, .users = {}});
  EXPECT_EQ(number.cleaned("4711 MiB 100 /home/4711/x"), "4711 MiB 100 ~/x");
}

TEST(Redactor, LooksThroughColours) {
  EXPECT_EQ(redactor().cleaned("\x1b[33mapi_key\x1b[0m=\x1b[32m'TAIL'\x1b[0m"), "api_key='***'");
  EXPECT_EQ(redactor().cleaned("\x1b[1mpassword\x1b[0m=\x1b[36mTAIL\x1b[0m"), "password=***");
  EXPECT_EQ(redactor().cleaned(R"(["\\x1b[33mtoken\\x1b[0m: TAIL\\x1b[0m", "b\\n"])"),
            R"(["token: ***", "b\\n"])");
  EXPECT_EQ(redactor().cleaned("\x1b[32m0123456789abcdef0123456789abcdef\x1b[0m"), "***");
}

TEST(Redactor, MasksAValueOnTheNextLine) {
  EXPECT_EQ(redactor().cleaned("api_key:\n  TAIL\nlr: 1"), "api_key:\n  ***\nlr: 1");
  EXPECT_EQ(redactor().cleaned("a:\n  password: >\n    TAIL\n\n    b: TAIL\n  lr: 1\n    x"),
            "a:\n  password: >\n    ***\n\n    ***\n  lr: 1\n    x");
  EXPECT_EQ(redactor().cleaned("api_keys:\n- TAIL\n- TAIL\nlr: 1"),
            "api_keys:\n- ***\n- ***\nlr: 1");
  EXPECT_EQ(redactor().cleaned("'token':\n  'TAIL'"), "'token':\n  ***");
}

TEST(Redactor, LeavesWhatIsNestedBelowATellingName) {
  for (const char* text : {"auth:\n  user: x\n  retries: 3", "\"auth\": {\n  \"user\": 1\n}",
                           "token:\nlr: 1", "invalid token:\n    x = y(", "auth: |\nlr: 1"}) {
    EXPECT_EQ(redactor().cleaned(text), text);
  }
}

}  // namespace
}  // namespace berth
