"""A tensor beside each weight of a network: owners, importances, anchors."""

from __future__ import annotations

from collections.abc import Mapping

from torch import Tensor, nn


class Weightwise(nn.Module):
    """Tensors by the names of weights; saved with the learner, never trained."""

    def __init__(self, tensors: Mapping[str, Tensor]) -> None:
        super().__init__()
        self._keys = {name: name.replace(".", "/") for name in tensors}  # a buffer's name holds no dot
        for name, tensor in tensors.items():
            self.register_buffer(self._keys[name], tensor)

    def __getitem__(self, name: str) -> Tensor:
        """The tensor of a weight."""
        return self.get_buffer(self._keys[name])

    def __len__(self) -> int:
        """How many weights have one."""
        return len(self._keys)

    def numel(self) -> int:
        """Numbers in all of them."""
        return sum(one.numel() for one in self.buffers())
