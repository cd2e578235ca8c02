"""Commands whose words are taken as they were typed, where text is what is wanted.

Typer converts every value with pydantic, even one that was left out or that is text already. To
import pydantic takes longer than to run most commands, so typer is asked only where there is
something to convert or to refuse: a number, a choice that there is not, a file that can't be read.
"""

import os
from enum import StrEnum
from pathlib import Path
from typing import Any, Literal, get_args, get_origin

from typer.core import TyperCommand

__all__ = ["Command", "take_plain_values"]

FLAGS_OF_PATHS = ("resolve_path", "writable", "parser", "path_type")


class Command(TyperCommand):
    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        take_plain_values(self.get_params(ctx))
        return super().parse_args(ctx, args)


def take_plain_values(parameters: Any) -> None:
    """Have the values of a command's options and arguments converted only if they need to be."""
    for parameter in parameters:
        # Typer makes a converter when it finds none here. A version of typer that keeps it
        # elsewhere makes its own: that is slower, and nothing else.
        parameter._runtime_param = _AS_TYPED


class _AsTyped:
    """Stands where typer keeps the converter of an option."""

    def coerce(self, value: Any, param: Any, ctx: Any) -> Any:
        if value is None and param.nargs == 1 and not param.multiple:
            return None
        kind, info = param.type_descriptor.annotation, param.type_descriptor.parameter_info
        if type(value) is str and info.parser is None:
            if kind is str:
                return value
            if get_origin(kind) is Literal and value in get_args(kind):
                return value
            if isinstance(kind, type) and issubclass(kind, StrEnum) and value in {*kind}:
                return kind(value)
            if kind is Path and _is_any_path(info) and os.access(value, os.R_OK):
                return Path(value)
        param._runtime_param = None
        return param.get_runtime_param().coerce(value, param=param, ctx=ctx)


def _is_any_path(info: Any) -> bool:
    """True where typer would check no more than that the path can be read."""
    asked = any(getattr(info, flag) for flag in FLAGS_OF_PATHS)
    return info.file_okay and info.dir_okay and not asked


_AS_TYPED = _AsTyped()
