"""A program for an environment with transformers: writes a random model of a few thousand weights.

Its tokens are bytes, so that any completion can be told to it. argv: the folder.
"""

import sys

from tokenizers import Tokenizer, decoders, models, pre_tokenizers
from transformers import PreTrainedTokenizerFast, Qwen2Config, Qwen2ForCausalLM

_END = "<end>"


def write(folder: str) -> None:
    letters = sorted(pre_tokenizers.ByteLevel.alphabet())
    vocabulary = {letter: number for number, letter in enumerate([*letters, _END])}
    tokenizer = Tokenizer(models.BPE(vocab=vocabulary, merges=[]))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, eos_token=_END, pad_token=_END
    ).save_pretrained(folder)
    shape = Qwen2Config(
        vocab_size=len(vocabulary),
        hidden_size=16,
        intermediate_size=16,
        num_hidden_layers=1,
        num_attention_heads=2,
        num_key_value_heads=2,
    )
    Qwen2ForCausalLM(shape).save_pretrained(folder)


if __name__ == "__main__":
    write(sys.argv[1])
