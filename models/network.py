"""The network of a bundle in torch: any encoder that transformers knows, with the attention each token receives.

`output_attentions` would keep every attention matrix ([heads, length, length] per layer and text). Here each layer's
is reduced to its column sums at once, by an attention function registered with transformers.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn
from transformers import AttentionInterface, AutoConfig, AutoModel
from transformers.masking_utils import AttentionMaskInterface, sdpa_mask

from indexer.errors import BundleIncompatible
from models.bundle import Bundle, Pooling
from models.weights import load_weights

COUNTING = "indexer_counting"


class Received:
    """Sums up the attention each token receives, layer by layer.

    Args:
        words: float [batch, length]; 1 for tokens that send and receive, 0 for special ones and padding.
    """

    def __init__(self, words: Tensor) -> None:
        self.words = words
        self.total = torch.zeros_like(words, dtype=torch.float32)

    def add(self, probabilities: Tensor) -> None:
        """Add one layer's softmax, [batch, heads, length, length], receivers last."""
        batch, heads, length, _ = probabilities.shape
        senders = self.words.to(probabilities.dtype)[:, None, None, :].expand(batch, heads, 1, length)
        columns = torch.matmul(senders, probabilities)  # [batch, heads, 1, length]
        self.total += columns.float().sum(dim=(1, 2)) * self.words


def counting_attention(
    module: nn.Module,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attention_mask: Tensor | None,
    scaling: float | None = None,
    dropout: float = 0.0,
    received: Received | None = None,
    **_: Any,
) -> tuple[Tensor, None]:
    """Scaled dot-product attention that tells `received` what it did; the fused one where nobody asks.

    Args:
        query, key, value: [batch, heads, length, size].
        attention_mask: bool [batch, 1, length, length], True where attention is allowed, or None for everywhere.

    Returns:
        [batch, length, heads, size], and no attention matrix.
    """
    if received is None:
        mixed = nn.functional.scaled_dot_product_attention(
            query, key, value, attn_mask=attention_mask, dropout_p=dropout, scale=scaling
        )
        return mixed.transpose(1, 2), None
    scale = query.shape[-1] ** -0.5 if scaling is None else scaling
    scores = torch.matmul(query * scale, key.transpose(2, 3))  # [batch, heads, length, length]
    if attention_mask is not None:
        scores = scores.masked_fill(~attention_mask, torch.finfo(scores.dtype).min)
    probabilities = scores.softmax(dim=-1)
    received.add(probabilities)
    return torch.matmul(probabilities, value).transpose(1, 2), None


AttentionInterface.register(COUNTING, counting_attention)
AttentionMaskInterface.register(COUNTING, sdpa_mask)


class Network(nn.Module):
    """A bundle's transformer and pooling."""

    def __init__(self, bundle: Bundle) -> None:
        super().__init__()
        self.pooling: Pooling = bundle.pooling
        config = AutoConfig.from_pretrained(bundle.base_folder)
        deepest = max(*self.pooling.span_layers, *self.pooling.document_layers)
        if deepest > config.num_hidden_layers:
            raise BundleIncompatible(
                f"Bundle '{bundle.name}' pools layer {deepest}; its base model has {config.num_hidden_layers} layers."
            )
        self.transformer = AutoModel.from_config(config, attn_implementation=COUNTING)
        self._fill(bundle)
        self.eval()

    @property
    def dims(self) -> int:
        return int(self.transformer.config.hidden_size)

    def _fill(self, bundle: Bundle) -> None:
        """Load the merged weights."""
        own = self.transformer.state_dict()
        prefix = f"{self.transformer.base_model_prefix}."
        given = {
            key.removeprefix(prefix): torch.from_numpy(value) for key, value in load_weights(bundle).items()
        }
        # A pooler is not used and often missing.
        missing = [key for key in own if key not in given and not key.startswith("pooler.")]
        if missing:
            raise BundleIncompatible(
                f"The base model of bundle '{bundle.name}' lacks {len(missing)} weights, the first: {missing[0]}."
            )
        self.transformer.load_state_dict({key: given.get(key, own[key]) for key in own})

    def forward(
        self, ids: Tensor, mask: Tensor, words: Tensor, *, attention: bool = True
    ) -> tuple[Tensor, Tensor, Tensor]:
        """Run the transformer once.

        Args:
            ids: int [batch, length].
            mask: int [batch, length]; 1 for a token, 0 for padding.
            words: float [batch, length]; 1 for a word piece, 0 for special tokens and padding.
            attention: Whether to measure it; without, the fused attention runs and `received` is 0.

        Returns:
            document float [batch, dims], tokens float [batch, length, dims], received float [batch, length]:
            see `models.backends.Output`.
        """
        received = Received(words)
        hidden = self.transformer(
            input_ids=ids,
            attention_mask=mask,
            output_hidden_states=True,
            received=received if attention else None,
        ).hidden_states
        tokens = mean_of([hidden[layer] for layer in self.pooling.span_layers])
        whole = mean_of([hidden[layer] for layer in self.pooling.document_layers])
        keep = mask.to(whole.dtype) if self.pooling.document_specials else words.to(whole.dtype)
        document = torch.matmul(keep.unsqueeze(1), whole).squeeze(1) / keep.sum(dim=1, keepdim=True).clamp(
            min=1
        )
        return document, tokens, received.total


def mean_of(layers: list[Tensor]) -> Tensor:
    """Mean of tensors of one shape."""
    total = layers[0]
    for layer in layers[1:]:
        total = total + layer
    return total / len(layers)
