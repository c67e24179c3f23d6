"""The network of a bundle as an ONNX graph, written node by node: no torch, neither here nor where it runs.

An exporter would give the fp32 graph too. Written node by node, the int8 graph can quantise every token on its own scale:

- The usual dynamic quantisation has one scale for all tokens of a pass, so the few tokens with huge values
  ([CLS] and [SEP] in the feed-forward layers) spoil the rest, and a text's vector depends on what shares its
  batch. With a scale per token the vectors are nearer to fp32 (median cosine .9994 instead of .995 for the
  packaged MiniLM) and the same in every batch.
- Activations are uint8 around 128, weights int8 with one scale per output: what the CPU's dot-product
  instructions multiply. The outputs of GELU are at least -0.17, so they get an asymmetric range.

Texts of one pass have one length (see `batches`), so there is no padding and no mask.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper

from indexer.errors import BackendUnavailable, BundleIncompatible
from models.backends import Floats
from models.bundle import Bundle
from models.weights import Weights

OPSET = 20  # the first with Gelu
MICROSOFT = "com.microsoft"

Array = NDArray[Any]


@dataclass(frozen=True)
class Family:
    """What an architecture calls its weights; `{}` is the layer. All have their norm after the residual."""

    norm: str
    query: str
    key: str
    value: str
    mixed: str
    mixed_norm: str
    wide: str
    narrow: str
    narrow_norm: str


_BERT = Family(
    norm="embeddings.LayerNorm",
    query="encoder.layer.{}.attention.self.query",
    key="encoder.layer.{}.attention.self.key",
    value="encoder.layer.{}.attention.self.value",
    mixed="encoder.layer.{}.attention.output.dense",
    mixed_norm="encoder.layer.{}.attention.output.LayerNorm",
    wide="encoder.layer.{}.intermediate.dense",
    narrow="encoder.layer.{}.output.dense",
    narrow_norm="encoder.layer.{}.output.LayerNorm",
)
_DISTILBERT = Family(
    norm="embeddings.LayerNorm",
    query="transformer.layer.{}.attention.q_lin",
    key="transformer.layer.{}.attention.k_lin",
    value="transformer.layer.{}.attention.v_lin",
    mixed="transformer.layer.{}.attention.out_lin",
    mixed_norm="transformer.layer.{}.sa_layer_norm",
    wide="transformer.layer.{}.ffn.lin1",
    narrow="transformer.layer.{}.ffn.lin2",
    narrow_norm="transformer.layer.{}.output_layer_norm",
)
FAMILIES = {
    "bert": _BERT,
    "roberta": _BERT,
    "xlm-roberta": _BERT,
    "camembert": _BERT,
    "luke": _BERT,  # without entities it computes what RoBERTa does
    "distilbert": _DISTILBERT,
}
POSITIONS_AFTER_PADDING = {"roberta", "xlm-roberta", "camembert", "luke"}


@dataclass(frozen=True)
class Shape:
    """The sizes of a transformer, whatever its config calls them."""

    family: str
    dims: int
    heads: int
    layers: int
    epsilon: float
    first_position: int  # row of the position table that the first token takes

    @classmethod
    def of(cls, config: dict[str, Any]) -> Shape:
        """Read a Hugging Face config.json.

        Raises:
            BackendUnavailable: This architecture cannot be written as a graph here.
        """
        family = config.get("model_type", "")
        activation = config.get("hidden_act") or config.get("activation")
        positions = config.get("position_embedding_type") or "absolute"
        if family not in FAMILIES or activation != "gelu" or positions != "absolute":
            raise BackendUnavailable(
                f"The ONNX backends cannot run this base model ({family or 'no model_type'}, {activation}, "
                f"{positions} positions). They know: {', '.join(FAMILIES)}, with gelu and absolute positions.",
                hint="Take the backend torch-fp32.",
            )
        return cls(
            family=family,
            dims=config.get("hidden_size") or config["dim"],
            heads=config.get("num_attention_heads") or config["n_heads"],
            layers=config.get("num_hidden_layers") or config["n_layers"],
            epsilon=config.get("layer_norm_eps", 1e-12),
            first_position=config["pad_token_id"] + 1 if family in POSITIONS_AFTER_PADDING else 0,
        )


def build(
    bundle: Bundle, weights: Weights, *, documents: Floats | None = None, quantised: int = 0
) -> onnx.ModelProto:
    """Write the graph of a bundle.

    Inputs: ``ids`` int64 [batch, length]; ``words`` and ``shares`` float [length], as in `models.backends.Batch`
    (one length and one layout: all rows of a batch have the same). Outputs: those of `models.backends.Output`.

    Args:
        weights: The merged weights.
        documents: float32 [dims, dims], the head `models.weights.DOCUMENTS`, if the bundle has it.
        quantised: 0 for float32; otherwise the largest int8 weight. 127 uses all of it. CPUs without VNNI add
            two products in 16 bits, which overflow beyond 63.

    Raises:
        BackendUnavailable: This architecture cannot be written as a graph here.
        BundleIncompatible: Weights or layers are missing.
    """
    if bundle.pooling.mentions == "entities":
        raise BackendUnavailable(
            f"The ONNX backends have no entities, which bundle '{bundle.name}' takes mentions from.",
            hint="Take the backend torch-fp32.",
        )
    shape = Shape.of(bundle.base_config)
    bundle.check_layers(shape.layers)
    prefix = f"{shape.family}."
    weights = {name.removeprefix(prefix): value for name, value in weights.items()}
    try:
        return _Writer(shape, weights, quantised).model(bundle, documents)
    except KeyError as error:
        raise BundleIncompatible(f"The base model of bundle '{bundle.name}' lacks weight {error}.") from error


class _Writer:
    """Writes one graph. Methods take and return names of tensors; the comments give their shapes.

    Between the layers all tokens are in one list: T = batch * length.
    """

    def __init__(self, shape: Shape, weights: Weights, quantised: int) -> None:
        self.shape = shape
        self.weights = weights
        self.names = FAMILIES[shape.family]
        self.quantised = quantised
        self.nodes: list[onnx.NodeProto] = []
        self.constants: list[onnx.TensorProto] = []

    def model(self, bundle: Bundle, documents: Floats | None) -> onnx.ModelProto:
        dims = self.shape.dims
        batch_and_length = self.op("Shape", "ids")
        self.by_heads = self.op(
            "Concat", batch_and_length, self.ints(self.shape.heads, dims // self.shape.heads), axis=0
        )
        self.by_text = self.op("Concat", batch_and_length, self.ints(dims), axis=0)
        # All heads' senders in one row, so that one product sums over both, in the same order in every batch.
        length = self.op("Shape", "words")
        self.by_sender = self.op(
            "Concat", self.ints(0, -1), length, axis=0
        )  # [batch, heads * length, length]
        every_head = self.op(
            "Expand", "words", self.op("Concat", self.ints(self.shape.heads), length, axis=0)
        )
        self.senders = self.op("Reshape", every_head, self.ints(-1))  # [heads * length]

        hidden = [self.embeddings()]  # [T, dims] each; [0] the embeddings, [n] after layer n
        received = []  # [batch, length] each
        for layer in range(self.shape.layers):
            tokens, columns = self.layer(layer, hidden[-1])
            hidden.append(tokens)
            if not bundle.pooling.attention_layers or layer + 1 in bundle.pooling.attention_layers:
                received.append(columns())

        tokens = self.op(
            "Reshape", self.mean([hidden[at] for at in bundle.pooling.span_layers]), self.by_text
        )
        whole = self.op(
            "Reshape", self.mean([hidden[at] for at in bundle.pooling.document_layers]), self.by_text
        )
        self.op("Identity", tokens, to="tokens")  # [batch, length, dims]
        if documents is None:
            self.op("MatMul", "shares", whole, to="document")  # [batch, dims]
        else:
            mean = self.op("MatMul", "shares", whole)
            self.op("MatMul", mean, self.constant(documents), to="document")
        self.op("Mul", self.op("Sum", *received), "words", to="received")  # [batch, length]

        graph = helper.make_graph(
            self.nodes,
            "encoder",
            [
                helper.make_tensor_value_info("ids", TensorProto.INT64, ["batch", "length"]),
                helper.make_tensor_value_info("words", TensorProto.FLOAT, ["length"]),
                helper.make_tensor_value_info("shares", TensorProto.FLOAT, ["length"]),
            ],
            [
                helper.make_tensor_value_info("document", TensorProto.FLOAT, ["batch", dims]),
                helper.make_tensor_value_info("tokens", TensorProto.FLOAT, ["batch", "length", dims]),
                helper.make_tensor_value_info("received", TensorProto.FLOAT, ["batch", "length"]),
            ],
            self.constants,
        )
        opsets = [helper.make_opsetid("", OPSET), helper.make_opsetid(MICROSOFT, 1)]
        return helper.make_model(graph, opset_imports=opsets, ir_version=10)

    # -- the transformer

    def embeddings(self) -> str:
        """Word, position and type, normalised: [T, dims]."""
        positions = self.weights["embeddings.position_embeddings.weight"][self.shape.first_position :]
        types = self.weights.get("embeddings.token_type_embeddings.weight")
        table = self.constant(positions if types is None else positions + types[0])
        words = self.op("Gather", self.constant(self.weights["embeddings.word_embeddings.weight"]), "ids")
        length = self.op("Shape", "ids", start=1, end=2)
        summed = self.op("Add", words, self.op("Slice", table, self.ints(0), length, self.ints(0)))
        return self.norm(self.op("Reshape", summed, self.ints(-1, self.shape.dims)), self.names.norm)

    def layer(self, layer: int, tokens: str) -> tuple[str, Callable[[], str]]:
        """One layer: tokens [T, dims] to tokens [T, dims], and what writes the attention received in it.

        The biases of keys and values need no node: a key's bias adds the same to all scores of a query, which
        softmax forgets, and a value's bias goes through unchanged, since attention sums to 1.
        """
        named = {name: getattr(self.names, name).format(layer) for name in self.names.__dataclass_fields__}
        scale = np.float32(1 / math.sqrt(self.shape.dims // self.shape.heads))
        query_weight, query_bias = self.linear_weights(named["query"])
        key_weight, _ = self.linear_weights(named["key"])
        value_weight, value_bias = self.linear_weights(named["value"])
        mixed_weight, mixed_bias = self.linear_weights(named["mixed"])

        apply = self.linear(tokens)
        query = self.split_heads(apply(query_weight * scale, query_bias * scale), [0, 2, 1, 3])
        key = self.split_heads(apply(key_weight, None), [0, 2, 3, 1])
        value = self.split_heads(apply(value_weight, None), [0, 2, 1, 3])  # [batch, heads, length, size]
        attention = self.op(
            "Softmax", self.op("MatMul", query, key), axis=-1
        )  # [batch, heads, length, length]
        mixed = self.op("Transpose", self.op("MatMul", attention, value), perm=[0, 2, 1, 3])
        mixed = self.op("Reshape", mixed, self.ints(-1, self.shape.dims))  # [T, dims]

        added = self.linear(mixed)(mixed_weight, mixed_bias + value_bias @ mixed_weight)
        tokens = self.norm(self.op("Add", added, tokens), named["mixed_norm"])
        wide = self.op("Gelu", self.linear(tokens)(*self.linear_weights(named["wide"])))  # [T, 4 * dims]
        added = self.linear(wide, after_gelu=True)(*self.linear_weights(named["narrow"]))

        def columns() -> str:  # [batch, length]
            return self.op("MatMul", self.senders, self.op("Reshape", attention, self.by_sender))

        return self.norm(self.op("Add", added, tokens), named["narrow_norm"]), columns

    def split_heads(self, tokens: str, order: list[int]) -> str:
        return self.op("Transpose", self.op("Reshape", tokens, self.by_heads), perm=order)

    def norm(self, tokens: str, name: str) -> str:
        gain, shift = self.weights[f"{name}.weight"], self.weights[f"{name}.bias"]
        # Not the fused SkipLayerNormalization: onnxruntime runs that one six times slower on CPUs.
        return self.op(
            "LayerNormalization",
            tokens,
            self.constant(gain),
            self.constant(shift),
            axis=-1,
            epsilon=self.shape.epsilon,
        )

    def mean(self, layers: list[str]) -> str:
        if len(layers) == 1:
            return layers[0]
        return self.op("Mul", self.op("Sum", *layers), self.constant(np.float32(1 / len(layers))))

    # -- matrix products

    def linear_weights(self, name: str) -> tuple[Array, Array]:
        """Weight [inputs, outputs] and bias [outputs] of a linear layer."""
        return self.weights[f"{name}.weight"].T, self.weights[f"{name}.bias"]

    def linear(self, tokens: str, *, after_gelu: bool = False) -> Callable[[Array, Array | None], str]:
        """Prepare tokens [T, inputs] for linear layers; give a function that writes one of them, [T, outputs]."""
        multiply = self.int8_product(tokens, after_gelu) if self.quantised else self.float_product(tokens)

        def apply(weight: Array, bias: Array | None) -> str:
            product = multiply(weight)
            return product if bias is None else self.op("Add", product, self.constant(bias))

        return apply

    def float_product(self, tokens: str) -> Callable[[Array], str]:
        return lambda weight: self.op("MatMul", tokens, self.constant(weight))

    def int8_product(self, tokens: str, after_gelu: bool) -> Callable[[Array], str]:
        """Quantise each token on its own scale, multiply in int8, and scale back."""
        highest = self.op("ReduceMax", tokens, self.ints(-1), keepdims=0)  # [T]
        if after_gelu:
            # 38 steps below zero and 217 above. From 1 up, 38 steps reach GELU's minimum of -0.17.
            zero, steps, least = 38, 217, 1.0
        else:
            zero, steps, least = 128, 127, 1e-6
            lowest = self.op("ReduceMin", tokens, self.ints(-1), keepdims=0)
            highest = self.op("Max", highest, self.op("Neg", lowest))
        reach = self.op("Max", highest, self.constant(np.float32(least)))
        scales = self.op("Mul", reach, self.constant(np.float32(1 / steps)))  # [T]
        count = self.op("Shape", tokens, start=0, end=1)
        zeros = self.op("Expand", self.constant(np.array([zero], dtype=np.uint8)), count)  # [T]
        small = self.op("QuantizeLinear", tokens, scales, zeros, axis=0)  # uint8 [T, inputs]
        by_token = self.op("Unsqueeze", scales, self.ints(1))  # [T, 1]
        one, offset = self.constant(np.float32(1)), self.constant(np.uint8(zero))

        def multiply(weight: Array) -> str:
            small_weight, by_output = quantise(weight, self.quantised)
            product = self.op(
                "MatMulIntegerToFloat",
                small,
                self.constant(small_weight),
                one,
                self.constant(by_output),
                offset,
                domain=MICROSOFT,
            )
            return self.op("Mul", product, by_token)

        return multiply

    # -- nodes and constants

    def op(self, kind: str, *inputs: str, to: str = "", domain: str = "", **attributes: Any) -> str:
        """Add a node with one output; return the output's name."""
        output = to or f"{kind}_{len(self.nodes)}"
        node = helper.make_node(kind, list(inputs), [output], name=output, domain=domain, **attributes)
        self.nodes.append(node)
        return output

    def constant(self, value: Array | np.generic) -> str:
        name = f"c{len(self.constants)}"
        self.constants.append(numpy_helper.from_array(np.asarray(value, order="C"), name))
        return name

    def ints(self, *values: int) -> str:
        return self.constant(np.array(values, dtype=np.int64))


def quantise(weight: Array, largest: int) -> tuple[Array, Array]:
    """Round a weight to int8, one scale per output.

    Args:
        weight: float32 [inputs, outputs].
        largest: What the largest value of each output becomes.

    Returns:
        int8 [inputs, outputs] and float32 [outputs]; their product is near `weight`.
    """
    scales = np.maximum(np.abs(weight).max(axis=0), 1e-12) / largest
    return np.rint(weight / scales).astype(np.int8), scales.astype(np.float32)
