// Docstrings: divisions and products.
#pragma once

namespace tilewright::bind::doc {

inline constexpr const char* logical_divide =
    R"doc(The layout split into tiles: mode 0 runs in the tile, mode 1 over the tiles.

    A / B = A o (B, B*),  B* = complement(B, shape(coalesce(A))); by mode for a tuple: ((t0,r0),(t1,r1),..,l,..)

Args:
    target: A: a Layout, ComposedLayout or Tensor.
    tiler: B: a Layout, an extent n (n:1), None (leave the mode), or a tuple of these, one per mode; modes beyond stay.
Returns: an object of the same kind. A ragged tile overhangs: then the size grows and the user predicates.
Raises: LayoutError when R(i) != A((B,B*)(i)) somewhere inside A, an element is lost, or the tiler has too many modes.
Source: CuTe `logical_divide`; CUTLASS docs, media/docs/cpp/cute/02_layout_algebra.md.

Examples:
    >>> cute.logical_divide(cute.parse("(4,2,3):(2,1,8)"), cute.parse("4:2"))
    ((2,2),(2,3)):((4,1),(2,8))
    >>> cute.logical_divide(cute.parse("(4,6):(1,4)"), (2, 3))
    ((2,2),(3,2)):((1,2),(4,12)))doc";

inline constexpr const char* zipped_divide =
    R"doc(The division with all tile modes in mode 0 and all rest modes in mode 1.

    logical_divide regrouped: ((t0,t1,..),(r0,r1,..,l,..))

Args:
    target: a Layout, ComposedLayout or Tensor.
    tiler: as for logical_divide; a mode with None must be a pair (tile, rest) already.
Returns: an object of the same kind; R(None, (i, j)) is the tile at (i, j).
Raises: as logical_divide.
Source: CuTe `zipped_divide`.

Examples:
    >>> cute.zipped_divide(cute.parse("(4,6):(1,4)"), (2, 3))
    ((2,3),(2,2)):((1,4),(2,12))
    >>> cute.zipped_divide(cute.parse("(10,6):(1,10)"), (4, 4))
    ((4,4),(3,2)):((1,10),(4,40)))doc";

inline constexpr const char* tiled_divide =
    R"doc(The division with all tile modes in mode 0 and the rest modes behind it.

    logical_divide regrouped: ((t0,t1,..),r0,r1,..,l,..)

Args:
    target: a Layout, ComposedLayout or Tensor.
    tiler: as for zipped_divide.
Returns: an object of the same kind.
Raises: as logical_divide.
Source: CuTe `tiled_divide`.

Examples:
    >>> cute.tiled_divide(cute.parse("(4,6):(1,4)"), (2, 3))
    ((2,3),2,2):((1,4),2,12))doc";

inline constexpr const char* flat_divide = R"doc(The division with all tile modes, then all rest modes, side by side.

    logical_divide regrouped: (t0,t1,..,r0,r1,..,l,..)

Args:
    target: a Layout, ComposedLayout or Tensor.
    tiler: as for zipped_divide.
Returns: an object of the same kind.
Raises: as logical_divide.
Source: CuTe `flat_divide`.

Examples:
    >>> cute.flat_divide(cute.parse("(4,6):(1,4)"), (2, 3))
    (2,3,2,2):(1,4,2,12))doc";

inline constexpr const char* logical_product =
    R"doc(Copies of a block: mode 0 is the block, mode 1 says where the copies go.

    A x B = (A, A* o B),  A* = complement(A, |A| * cosize(B)); by mode for a tuple: ((b0,t0),(b1,t1),..)

Args:
    block: A: a Layout, ComposedLayout or Tensor.
    tiler: B: a Layout, an extent n (n:1), None (leave the mode), or a tuple of these, one per mode; modes beyond stay.
        Of a Layout also a swizzled layout with offset 0.
Returns: an object of the same kind (swizzled by a swizzled tiler), injective if A and B are.
Raises: LayoutError when no layout is A* o B, the complement leaves too little room, or the tiler has too many modes.
Source: CuTe `logical_product`; CUTLASS docs, media/docs/cpp/cute/02_layout_algebra.md.

Examples:
    >>> cute.logical_product(cute.parse("(2,2):(4,1)"), cute.parse("6:1"))
    ((2,2),(2,3)):((4,1),(2,8)))doc";

inline constexpr const char* zipped_product =
    R"doc(The product with all block modes in mode 0 and all tiler modes in mode 1.

    logical_product regrouped: ((b0,b1,..),(t0,t1,..))

Args:
    block: a Layout, ComposedLayout or Tensor.
    tiler: as for logical_product; a mode with None must be a pair already.
Returns: an object of the same kind.
Raises: as logical_product.
Source: CuTe `zipped_product`.

Examples:
    >>> cute.zipped_product(cute.parse("(2,5):(5,1)"), cute.parse("(3,4):(1,3)"))
    ((2,5),(3,4)):((5,1),(10,30)))doc";

inline constexpr const char* tiled_product =
    R"doc(The product with all block modes in mode 0 and the tiler modes behind it.

    logical_product regrouped: ((b0,b1,..),t0,t1,..)

Args:
    block: a Layout, ComposedLayout or Tensor.
    tiler: as for zipped_product.
Returns: an object of the same kind.
Raises: as logical_product.
Source: CuTe `tiled_product`.

Examples:
    >>> cute.tiled_product(cute.parse("(2,5):(5,1)"), cute.parse("(3,4):(1,3)"))
    ((2,5),3,4):((5,1),10,30))doc";

inline constexpr const char* flat_product = R"doc(The product with all block modes, then all tiler modes, side by side.

    logical_product regrouped: (b0,b1,..,t0,t1,..)

Args:
    block: a Layout, ComposedLayout or Tensor.
    tiler: as for zipped_product.
Returns: an object of the same kind.
Raises: as logical_product.
Source: CuTe `flat_product`.

Examples:
    >>> cute.flat_product(cute.parse("(2,5):(5,1)"), cute.parse("(3,4):(1,3)"))
    (2,5,3,4):(5,1,10,30))doc";

inline constexpr const char* blocked_product =
    R"doc(The product mode by mode, the block innermost: whole blocks side by side.

    logical_product of the operands padded to one rank, zipped: ((b0,t0),(b1,t1),..)

Args:
    block: a Layout, ComposedLayout or Tensor.
    tiler: a Layout or an extent: the order and number of the copies.
Returns: an object of the same kind; the sizes of the modes multiply.
Raises: as logical_product.
Source: CuTe `blocked_product`.

Examples:
    >>> cute.blocked_product(cute.parse("(2,5):(5,1)"), cute.parse("(3,4):(1,3)"))
    ((2,3),(5,4)):((5,10),(1,30)))doc";

inline constexpr const char* raked_product =
    R"doc(The product mode by mode, the tiler innermost: the elements of the blocks interleaved.

    logical_product of the operands padded to one rank, zipped the other way: ((t0,b0),(t1,b1),..)

Args:
    block: a Layout, ComposedLayout or Tensor.
    tiler: a Layout or an extent: the order and number of the copies.
Returns: an object of the same kind; the sizes of the modes multiply.
Raises: as logical_product.
Source: CuTe `raked_product`.

Examples:
    >>> cute.raked_product(cute.parse("(2,5):(5,1)"), cute.parse("(3,4):(1,3)"))
    ((3,2),(4,5)):((10,5),(30,1)))doc";

inline constexpr const char* make_layout_tv =
    R"doc(The thread-value layout of a tile that threads and values make up by a raked product.

    M = raked_product(thr, val):  tiler = product_each(shape(M)),  tv = right_inverse(M) o (|thr|, |val|)
    tv(t, v) is the 1-D coordinate in the tile of value v of thread t:  M(tv(t, v)) = t + |thr| * v

Args:
    thr_layout: Layout from coordinates to threads.
    val_layout: Layout from coordinates to the values of one thread.
Returns: (tiler, tv): the extents of the tile, a tuple, and the layout.
Raises: LayoutError with a counter-example where M lacks one of the offsets t + |thr| * v; as logical_product.
Source: CuTe `make_layout_tv`.

Examples:
    >>> cute.make_layout_tv(cute.parse("(2,3):(3,1)"), cute.parse("(2,2):(2,1)"))
    ((4, 6), ((3,2),(2,2)):((8,2),(4,1))))doc";

inline constexpr const char* tile_to_shape = R"doc(Copies of a block that fill a shape.

    blocked_product(A, make_ordered_layout(S / shape(A), order)): size of mode k = S_k

Args:
    atom: A: a Layout, ComposedLayout (a swizzled atom) or Tensor.
    trg_shape: S: an int or tuple, of the block's rank or higher.
    order: one integer per mode, 0 the fastest, or 'left' (the default: mode 0 first) or 'right'.
Returns: an object of the same kind.
Raises: LayoutError when the block does not divide the shape, or has more modes; as logical_product.
Source: CuTe `tile_to_shape`.

Examples:
    >>> atom = cute.parse("(2,2):(1,2)")
    >>> cute.tile_to_shape(atom, (8, 8)), cute.tile_to_shape(atom, (8, 8), order=(1, 0))
    (((2,4),(2,4)):((1,4),(2,16)), ((2,4),(2,4)):((1,16),(2,4)))
    >>> cute.tile_to_shape(cute.parse("S<2,0,3> o 0 o (8,4):(4,1)"), (16, 8))
    S<2,0,3> o 0 o ((8,2),(4,2)):((4,32),(1,64)))doc";

}  // namespace tilewright::bind::doc
