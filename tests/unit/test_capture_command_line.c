/* test_capture_command_line.c: what of a command line is recorded: keys and passwords are not, all else is. */
#include "check.h"
#include "common/command_line.h"

#include <stdlib.h>
#include <string.h>

enum { WORDS_MAXIMUM = 16 };

struct command {
  const char *words[WORDS_MAXIMUM];
  const char *recorded; /* NULL: as it is */
};

/* What is in place of a key where its kind alone decides: forty digits, and what chance mixes. */
#define HEX40 "0123456789abcdef0123456789abcdef01234567"
#define MIXED "aB3dE5fG7hI9jK1lM2nO4pQ6"

static const struct command secret[] = {
    /* For the name in the word before. */
    {{"--token", "abc"}, "--token ***"},
    {{"--hf-token", "sk-cmd-0006"}, "--hf-token ***"},
    {{"--hub_token", "x"}, "--hub_token ***"},
    {{"-token", "x"}, "-token ***"},
    {{"--api-key", "x", "--lr", "0.1"}, "--api-key *** --lr 0.1"},
    {{"--apiKey", "x"}, "--apiKey ***"},
    {{"--password", "12345"}, "--password ***"},
    {{"--password", "/a/b"}, "--password ***"},
    {{"--db-pass", "12345"}, "--db-pass ***"},
    {{"--client-secret", "x y"}, "--client-secret ***"},
    {{"--aws_secret_access_key", "x"}, "--aws_secret_access_key ***"},
    {{"--wandb.api_key", "x"}, "--wandb.api_key ***"},
    {{"--use_auth_token", "abcdef"}, "--use_auth_token ***"},
    {{"--auth", "user:word"}, "--auth ***"},
    {{"--bearer", "x"}, "--bearer ***"},
    {{"--slack-webhook", "https://hooks.slack.com/services/T/B/x"}, "--slack-webhook ***"},
    /* In the same word. */
    {{"--token=abc"}, "--token=***"},
    {{"token=a,b"}, "token=***"},
    {{"env", "HF_TOKEN=abc", "python", "t.py"}, "env HF_TOKEN=*** python t.py"},
    {{"WANDB_API_KEY=abc"}, "WANDB_API_KEY=***"},
    {{"MYSQL_PWD=hunter2"}, "MYSQL_PWD=***"},
    {{"PGPASSWORD=hunter2"}, "PGPASSWORD=***"},
    {{"+logger.apiKey=abc"}, "+logger.apiKey=***"},
    {{"--env=HF_TOKEN=abc"}, "--env=HF_TOKEN=***"},
    {{"{\"token\":\"abc\",\"lr\":0.1}"}, "'{\"token\":\"***\",\"lr\":0.1}'"},
    {{"{\"password\": \"a b\", \"lr\": 0.1}"}, "'{\"password\": \"***\", \"lr\": 0.1}'"},
    {{"AccountName=a;AccountKey=abc=="}, "'AccountName=a;AccountKey=***'"},
    {{"password:hunter2"}, "password:***"},
    {{"-H", "Authorization: Bearer abc"}, "-H 'Authorization: Bearer ***'"},
    {{"-H", "X-Api-Key: abc"}, "-H 'X-Api-Key: ***'"},
    {{"bash", "-c", "TOKEN=abc python t.py --api-key xyz --lr 0.1"},
     "bash -c 'TOKEN=*** python t.py --api-key *** --lr 0.1'"},
    {{"python", "-c", "import wandb; wandb.login(api_key=\"x\")"},
     "python -c 'import wandb; wandb.login(api_key=\"***\")'"},
    {{"python", "-c", "login(token='hf')"}, "python -c 'login(token='\\''***'\\'')'"},
    /* For where it stands. */
    {{"https://alice:word@host/path"}, "https://alice:***@host/path"},
    {{"git+https://ghp@host/path"}, "git+https://***@host/path"},
    {{"postgresql://alice:word@host:5432/db"}, "postgresql://alice:***@host:5432/db"},
    {{"--db=redis://:word@host"}, "--db=redis://:***@host"},
    {{"https://host/a?sv=2020&sig=abc%3D&x=1"}, "'https://host/a?sv=2020&sig=***&x=1'"},
    {{"https://host/a?token=abc"}, "'https://host/a?token=***'"},
    {{"curl", "-u", "alice:word", "https://host"}, "curl -u alice:*** https://host"},
    {{"sshpass", "-pword", "ssh", "host"}, "sshpass -p*** ssh host"},
    {{"sshpass", "-p", "word", "ssh", "host"}, "sshpass -p *** ssh host"},
    {{"mysql", "-pword", "db"}, "mysql -p*** db"},
    /* For what it looks like. */
    {{"sk-abcdefghijklmnopqrst1234"}, "***"},
    {{"sk-proj-abc_def-1234"}, "***"},
    {{"hf_AbCdEfGhIjKlMnOpQrStUvWxYzAbCdEfGh"}, "***"},
    {{"ghp_0123456789abcdefghij"}, "***"},
    {{"github_pat_11ABCDEFG_abc"}, "***"},
    {{"xoxb-123456789-abc"}, "***"},
    {{"AKIAIOSFODNN7EXAMPLE"}, "***"},
    {{"eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.abc-DEF_1"}, "***"},
    {{"wandb", "login", HEX40}, "wandb login ***"},
    {{"key=" HEX40}, "key=***"},
    {{"--x", MIXED}, "--x ***"},
    {{"--x=" MIXED}, "--x=***"},
    {{"--config", "a.b." MIXED}, "--config a.b.***"},
    {{"wJalrXUtnFEMI/K7MDENG/bPxRfiCYzQ3kL8vW2tN5"}, "wJalrXUtnFEMI/K7MDENG/***"},
    {{"-----BEGIN RSA PRIVATE KEY-----\nabc"}, "***"},
};

static const struct command plain[] = {
    {.words = {"python", "train.py", "--lr", "0.001", "--batch-size=64", "--epochs", "90"}},
    {.words = {"torchrun", "--nproc-per-node", "4", "--rdzv-endpoint=host:29500", "train.py"}},
    {.words = {"--max-tokens", "512"}},
    {.words = {"--max_new_tokens=512", "--num-tokens", "8"}},
    {.words = {"--pad-token", "x"}},
    {.words = {"--eos_token_id", "2"}},
    {.words = {"--bos-token=x"}},
    {.words = {"--mask_token", "mask"}},
    {.words = {"--tokenizer", "bert-base-uncased"}},
    {.words = {"--token-dim", "768"}},
    {.words = {"--special_tokens", "a"}},
    {.words = {"--tokens-per-sample", "1024"}},
    {.words = {"--initializer_token", "toy"}},
    {.words = {"--text-key", "text", "--image_key=jpg", "--key", "train"}},
    {.words = {"--use_auth_token", "True"}},
    {.words = {"--use_auth_token", "--lr", "0.1"}},
    {.words = {"--token=$HF_TOKEN"}},
    {.words = {"--token-file", "/run/secrets/token"}},
    {.words = {"--password-file=/run/secrets/word"}},
    {.words = {"--secret-name", "database"}},
    {.words = {"--ssh-key", "~/.ssh/id_rsa"}},
    {.words = {"--num-pass", "3", "--pass", "2", "--forward-pass"}},
    {.words = {"PWD=/home/alice"}},
    {.words = {"--author", "alice", "--authors=bob"}},
    {.words = {"--auth-method", "oauth"}},
    {.words = {"--keys", "a,b", "--keyframes=3", "--monkey", "x"}},
    {.words = {"--revision", HEX40}},
    {.words = {"--revision=" HEX40}},
    {.words = {"--model_sha", HEX40, "--commit", HEX40}},
    {.words = {"models--bert/snapshots/" HEX40 "/config.json"}},
    {.words = {"pip", "install", "git+https://github.com/a/b@" HEX40}},
    {.words = {"git@github.com:a/b.git", "ssh://git@github.com/a/b"}},
    {.words = {"sha256:" HEX40 "89abcdef0123456789abcdef"}},
    {.words = {"550e8400-e29b-41d4-a716-446655440000"}},
    {.words = {"0123456789abcdef0123456789abcdef"}},
    {.words = {"--run-name", "ResNet50_ImageNet_2024-01-02_lr0.001_bs256"}},
    {.words = {"Llama-3-8B_LoRA-r16_a32_lr2e-4_bs8_2024-05-01T12-30-00"}},
    {.words = {"--model", "meta-llama/Llama-3.1-8B-Instruct"}},
    {.words = {"--model=Qwen2VLForConditionalGeneration7B2B"}},
    {.words = {"TheBloke/Mistral-7B-Instruct-v0.2-GPTQ"}},
    {.words = {"/mnt/data/ILSVRC2012/train/n01440764/n01440764_10026.JPEG"}},
    {.words = {"checkpoint-epoch12-step034500-valloss0.1234.safetensors"}},
    {.words = {"/tmp/ray/session_2024-05-01_12-30-00_123456_7/logs"}},
    {.words = {"train-job-7f9c6d5b8-x2x4z"}},
    {.words = {"--optim", "adamw_bnb_8bit", "--bf16", "--fp8_recipe=e4m3_hybrid"}},
    {.words = {"hf_transformers_example", "hf_dataset", "hf_home"}},
    {.words = {"sk-learn-1.3", "sk-SK", "sklearn"}},
    {.words = {"https://huggingface.co/datasets/a?split=train"}},
    {.words = {"tcp://10.0.0.1:29500", "s3://bucket/prefix/run-7", "file:///shared/init"}},
    {.words = {"trainer.devices=8", "+model.num_layers=12", "data.path=/a/b,c"}},
    {.words = {"--deepspeed", "ds_config_zero3.json", "--sharding=[fsdp,tp]"}},
    {.words = {"mysql", "-P", "3306"}},
    {.words = {"python", "-p", "word"}},
    {.words = {"python", "-c", "print(1 == 1)"}},
    {.words = {"-D", "C:\\a"}},
    {.words = {"--bypass-words", "x", "--compass", "n", "--pattern", "a"}},
};

static void test_one(const struct command *command, bool with_code) {
  char *words[WORDS_MAXIMUM + 1] = {NULL};
  for (int i = 0; i < WORDS_MAXIMUM && command->words[i]; i++) words[i] = (char *)command->words[i];
  char *typed = command_line_quote(words), *recorded = command_line_recorded(words, with_code);
  const char *expected = command->recorded ? command->recorded : typed;
  check(recorded && strcmp(recorded, expected) == 0, "%s\n  is recorded as %s\n  instead of     %s", typed,
        recorded ? recorded : "nothing", expected);
  free(typed);
  free(recorded);
}

int main(void) {
  for (size_t i = 0; i < sizeof secret / sizeof *secret; i++) test_one(&secret[i], true);
  for (size_t i = 0; i < sizeof plain / sizeof *plain; i++) test_one(&plain[i], true);
  static const struct command code[] = {
      {{"python", "-c", "print(1)", "--lr", "0.1"}, "python -c *** --lr 0.1"},
      {{"/usr/bin/python3.11", "-u", "-Ic", "print(1)"}, "/usr/bin/python3.11 -u -Ic ***"},
      {{"python3", "-cprint(1)"}, "python3 -c***"},
      {{"python", "train.py", "-c", "config.yaml"}, NULL},
      {{"bash", "-c", "ls"}, NULL},
  };
  for (size_t i = 0; i < sizeof code / sizeof *code; i++) test_one(&code[i], false);
  return check_result();
}
