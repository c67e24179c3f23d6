"""The network of a bundle in torch: any encoder that transformers knows, and the attention each token receives.

`output_attentions` would keep every attention matrix ([heads, length, length] per layer and text). Here each
layer's is reduced to its column sums at once, by an attention function registered with transformers.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from indexer.errors import BundleIncompatible
from models.bundle import Bundle, Pooling
from models.weights import DOCUMENTS, MENTIONS, MENTIONS_BIAS, Weights, load_weights, read_heads

COUNTING = "indexer_counting"

# Their attention goes through the interface. Others (LUKE, MPNet, DeBERTa) take the name and then ignore it.
COUNTABLE = frozenset({"bart", "bert", "camembert", "distilbert", "electra", "roberta", "xlm-roberta"})

ENTITY_MASK = 2  # the row of [MASK] in the entity vocabularies of all published LUKE models


class Received:
    """Sums up the attention each token receives, layer by layer.

    Args:
        words: float [batch, length]; 1 for tokens that send and receive, 0 for special ones and padding.
        layers: Which layers count, from 1; empty means all.
    """

    def __init__(self, words: Tensor, layers: tuple[int, ...]) -> None:
        self.words = words
        self.total = torch.zeros_like(words, dtype=torch.float32)
        self._layers = layers
        self._layer = 0  # that runs now

    def wants_next(self) -> bool:
        """Whether the layer that begins counts. To be asked once per layer, in their order."""
        self._layer += 1
        return not self._layers or self._layer in self._layers

    def add(self, probabilities: Tensor) -> None:
        """Add one layer's softmax, [batch, heads, length, length], receivers last."""
        batch, heads, length, _ = probabilities.shape
        senders = self.words.to(probabilities.dtype)[:, None, None, :].expand(batch, heads, 1, length)
        columns = torch.matmul(senders, probabilities)  # [batch, heads, 1, length]
        self.total = self.total + columns.float().sum(dim=(1, 2)) * self.words


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
    """Scaled dot-product attention that tells `received` what it did; the fused one where no attention is requested.

    Args:
        query, key, value: [batch, heads, length, size].
        attention_mask: bool [batch, 1, length, length], True where attention is allowed; None: everywhere.

    Returns:
        [batch, length, heads, size], and no attention matrix.
    """
    if received is None or not received.wants_next():
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
    probabilities = nn.functional.dropout(probabilities, p=dropout, training=module.training)
    return torch.matmul(probabilities, value).transpose(1, 2), None


class Network(nn.Module):
    """A bundle's transformer and pooling, with trainable weights.

    Raises:
        BundleIncompatible: The base model lacks layers or weights.
    """

    def __init__(self, bundle: Bundle) -> None:
        from transformers import AutoConfig  # here: it takes as long to import as torch

        super().__init__()
        self.pooling: Pooling = bundle.pooling
        config = AutoConfig.from_pretrained(bundle.base_folder)
        bundle.check_layers(config.num_hidden_layers)
        model, self.counts = _empty_model(config)
        weights = load_weights(bundle)
        _fill(model, weights, bundle.name)
        prefix = f"{model.base_model_prefix}."
        self._keys = {key.removeprefix(prefix): key for key in weights}
        self._parameters_of_base = dict(model.named_parameters())
        # Of an encoder-decoder only the encoder reads.
        self.transformer = model.get_encoder() if config.is_encoder_decoder else model
        heads = read_heads(bundle)
        head = heads.get(DOCUMENTS)
        self.documents = nn.Parameter(torch.eye(self.dims) if head is None else torch.from_numpy(head.copy()))
        self.mentions = _mention_head(heads)
        self.eval()

    @property
    def dims(self) -> int:
        return int(self.transformer.config.hidden_size)

    def base_parameters(self) -> dict[str, nn.Parameter]:
        """The transformer's weights by the names that the base model's file has for them."""
        found = self._parameters_of_base.items()
        return {self._keys[name]: parameter for name, parameter in found if name in self._keys}

    def forward(
        self,
        ids: Tensor,
        mask: Tensor,
        words: Tensor,
        shares: Tensor,
        *,
        entities: Tensor | None = None,
        attention: bool = True,
    ) -> tuple[Tensor, Tensor, Tensor]:
        """Run the transformer once.

        Args:
            ids: int [batch, length].
            mask: int [batch, length]; 1 for a token, 0 for padding.
            words: float [batch, length]; 1 for a word piece, 0 for special tokens and padding.
            shares: float [batch, length], weight of each token in the document vector; a row sums to 1.
            entities: int [batch, mentions, pieces], see `models.backends.Batch`; for LUKE only.
            attention: Whether to measure it; without, the fused attention runs and `received` is 0.

        Returns:
            document float [batch, dims], tokens float [batch, length, dims] (with `entities` [batch, mentions, dims]),
            received float [batch, length]: see `models.backends.Output`.
        """
        received = Received(words, self.pooling.attention_layers)
        if not attention:
            extra: dict[str, Any] = {}
        elif self.counts:
            extra = {"received": received}
        else:
            extra = {"output_attentions": True}
        if entities is None:
            extra["attention_mask"] = mask
        else:
            extra |= entity_inputs(mask, entities, self.documents.dtype)
        given = self.transformer(input_ids=ids, output_hidden_states=True, **extra)
        if attention and not self.counts:
            for matrix in given.attentions:
                if received.wants_next():
                    received.add(matrix[..., : ids.shape[1], : ids.shape[1]])  # not that of entities
        if entities is None:
            tokens = mean_of([given.hidden_states[layer] for layer in self.pooling.span_layers])
        else:
            tokens = mean_of([given.entity_hidden_states[layer] for layer in self.pooling.span_layers])
            tokens = self.mentions(tokens)
        whole = mean_of([given.hidden_states[layer] for layer in self.pooling.document_layers])
        mean = torch.matmul(shares.to(whole.dtype).unsqueeze(1), whole).squeeze(1)  # [batch, dims]
        document = mean @ self.documents.to(mean.dtype)
        return document, tokens, received.total


def entity_inputs(mask: Tensor, entities: Tensor, kind: torch.dtype) -> dict[str, Tensor]:
    """What LUKE is given for masked entities that stand where the mentions do.

    An entity attends to the words and itself, and no word attends to an entity. So the vectors of words and documents
    do not depend on which mentions are asked for, nor does one mention's vector on the others; LUKE alone would let
    all attend to all.

    Args:
        mask: int [batch, length].
        entities: int [batch, mentions, pieces].
        kind: Of the network's weights.

    Returns:
        The keyword arguments; masks float [batch, 1, length + mentions, length or mentions], added to the scores.
    """
    batch, length = mask.shape
    count = entities.shape[1]
    to_words = mask.bool()[:, None, None, :].expand(batch, 1, length + count, length)
    itself = torch.eye(count, dtype=torch.bool, device=mask.device)
    to_entities = torch.cat([torch.zeros(length, count, dtype=torch.bool, device=mask.device), itself])
    to_entities = to_entities.expand(batch, 1, length + count, count)

    def added(allowed: Tensor) -> Tensor:
        return torch.zeros(allowed.shape, dtype=kind, device=mask.device).masked_fill(
            ~allowed, torch.finfo(kind).min
        )

    return {
        "attention_mask": added(to_words),
        "entity_attention_mask": added(to_entities),
        "entity_ids": torch.full((batch, count), ENTITY_MASK, device=mask.device),
        "entity_position_ids": entities,
    }


def _mention_head(heads: Weights) -> nn.Module:
    """What makes the vector of a mention out of its entity: nothing, or the layer that UCTopic was trained with."""
    if MENTIONS not in heads:
        return nn.Identity()
    weight, bias = (torch.from_numpy(heads[name].copy()) for name in (MENTIONS, MENTIONS_BIAS))
    layer = nn.Linear(weight.shape[1], weight.shape[0])
    layer.load_state_dict({"weight": weight, "bias": bias})
    return nn.Sequential(layer, nn.Tanh())


def mean_of(layers: list[Tensor]) -> Tensor:
    """Mean of tensors of one shape."""
    total = layers[0]
    for layer in layers[1:]:
        total = total + layer
    return total / len(layers)


def _empty_model(config: Any) -> tuple[Any, bool]:
    """Build the architecture with random weights, and say whether it takes our attention function."""
    from transformers import AttentionInterface, AutoModel
    from transformers.masking_utils import AttentionMaskInterface, sdpa_mask

    AttentionInterface.register(COUNTING, counting_attention)
    AttentionMaskInterface.register(COUNTING, sdpa_mask)
    counts = config.model_type in COUNTABLE
    # The others keep their attention matrices, to be summed afterwards.
    return AutoModel.from_config(config, attn_implementation=COUNTING if counts else "eager"), counts


def _fill(model: Any, weights: Weights, name_of_bundle: str) -> None:
    """Load the merged weights of a bundle into `model`."""
    own = model.state_dict()
    prefix = f"{model.base_model_prefix}."
    given = {
        name: torch.from_numpy(value)
        for key, value in weights.items()
        if (name := key.removeprefix(prefix)) in own and own[name].shape == value.shape
    }
    filled = {own[key].data_ptr() for key in given}  # tied weights share memory; one of them is in the file
    missing = [
        key
        for key, value in own.items()
        if value.is_floating_point()
        and value.data_ptr() not in filled
        and not key.startswith("pooler.")  # unused here, and often not there
    ]
    if missing:
        raise BundleIncompatible(
            f"The base model of bundle '{name_of_bundle}' lacks {len(missing)} weights or has them in another "
            f"shape, the first: {missing[0]}."
        )
    model.load_state_dict(given, strict=False)
