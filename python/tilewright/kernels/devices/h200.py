"""NVIDIA H200: every number by which plans are chosen, measured on one (132 multiprocessors, driver 580.159.04).

Each section says what it was fitted to, and when. The days are those on which the numbers were fitted; the newest
measurements of what they choose are in benchmarks/results, and docs/gemm.md and docs/copy.md tell of them.
"""

DEVICE = "NVIDIA H200"
MEASURED = "2026-11-21 and 2026-11-22, driver 580.159.04, CUDA 13.0"

# What the whole device reaches. From the data sheet of the H200 with dense operands, but for `kernels` and `bandwidth`:
# these were fitted to large problems, 2026-11-21.
RATES = {
    # Those that it runs, the one to be asked first at the front; the share of the rates below that each reaches.
    "kernels": {"sm90": 0.68, "sm80": 0.4, "simt": 0.76},
    "half": 989.0,  # TFLOP/s of the tensor cores: fp16, bf16
    "tf32": 494.0,  # the same
    "float8": 1979.0,  # the same
    "int8": 1979.0,  # the same
    "float64": 67.0,  # the same
    "fma": 67.0,  # TFLOP/s of fp32 without tensor cores
    "fma64": 34.0,  # the same of fp64
    "bandwidth": 4.2,  # TB/s of the memory
}

# The model of waves, which compares kernels with each other. 2026-11-21.
WAVES = {
    "launch": 3e-6,  # seconds of a launch, from its first CTA to its last
    "fill": 0.7e-6,  # seconds in which a CTA fills its pipeline
    "half": 12,  # bM bN / (bM + bN) at which fetching takes as long as multiplying
}

# When C is planned both ways round, operands are copied, or the last rows are left to another GEMM.
RULE = {
    # The part of its time that gemm_simt takes longer where single elements come along K, and where none of them do:
    # 0.059 and 0.044 on 2026-11-21; of 7 shapes, 2026-12-01, copies gained 0.02 to 0.12.
    "loose": 0.065,  # along K
    "loose_across": 0.05,  # elsewhere
    "turning_gain": 0.98,  # the part of the time that may be left by copies along M and N; 2026-12-01
    "residue_tile": 128,  # rows or columns of a tile, the last one of which is a residue tile; 2026-11-22
    "most_of_residue": 16,  # rows or columns of a residue that may be a GEMM of its own
    "residue_launch": 1.5e-6,  # seconds of its launch
    "residue_gain": 0.995,  # the part of the time that must be left
}

# Copies of operands. By 82 copies of 42 shapes, 30 of them random, 2026-11-30.
PADDED = {
    "copies": 1.0,  # the share of the memory's bandwidth that copies from rows that are not aligned reach
    "turned": 0.9,  # the same of copies along M and N: 0.7 of 235 MB, 1.0 of 67 MB; 2026-12-01
    "row": 0.13e-9,  # seconds that each row takes at least
    "launch": 2.3e-6,  # seconds of one more launch
}

# When K is split over the grid. The times come from the models of the kernels and of copies.
SPLIT_K = {
    "tile": 128,  # rows and columns of a tile, of which there are to be few
    "least_bytes": 512,  # of a row of A or B in a part: four steps of gemm_sm90
    "most_parts": 64,  # which one sum has
    "gain": 0.95,  # the part of the time that may be left: less than this the models do not tell apart
    "launch": 1.7e-6,  # seconds of the launch that adds the parts up; 2026-11-29
    "share": 0.7,  # of the memory's bandwidth, at which their sums are read; 2026-11-29
}

# After how many terms sums are promoted: by mma.sync and wgmma. Fitted to errors and times beside cuBLAS's, 2026-11-22.
PROMOTION = {
    "beside": 64,  # registers of a thread for fragments and addresses
    "mma_terms": 64,  # of a sum by mma.sync
    "sums_of_doubles": 8,  # of a thread, which two sets do not slow down, of Float64; 2026-11-29
    "mma_block": 64,  # rows and columns of a tile, of which there are few where cuBLAS shares K
    # Sums of a thread, which two sets do not slow down; of a split twice as many, since it waits for memory.
    "most_sums": 32,
    "short": 8,  # steps along K, of which promoting after each one costs little
    # Of the terms that leave no larger error than cuBLAS's, sums by FMA have so many where they are promoted: it costs
    # the same however often, and of 70 shapes, 2026-12-01, two had 1.11 of cuBLAS's error, of 86 two 1.12 and 1.22.
    "promoted": 0.75,
}

# In how many parts of K cuBLAS multiplies (benchmarks/cublas_parts.py): fitted to the errors of its results, 36,451 of
# fp32 and 525 of fp64, of random sizes, 2026-11-29. So many parts would leave more than 1.1 of its error in 9 and 5 %.
CUBLAS_PARTS = {
    "tile": 128,  # rows and columns
    "round": 264,  # tiles
    "full": 0.965,  # of the rounds, from which on K is shared less
    "most_full": 1700,  # tiles up to which that is so where the last ones are not whole
    "terms_of_full": 2500,  # of a part then
    # from which K on; with how many tiles at most; scale, power of K, power of the number of tiles, parts at least;
    # few rows or columns, and their scale where both operands lie along K, times as many parts where B lies along N;
    # with more tiles: terms of a part where A lies along M, and where B lies along N, and the most parts
    "float32": (320, 528, 0.43, 0.55, 0.35, 2.0, 15, 0.784, 3.5, (3150, 700), 4.5),
    "float64": (700, 160, 1.32, 0.35, 0.4, 3.0, 0, 0.0, 1.0, (1, 1), 1.0),  # in the same order
    "tolerated": 1.15,  # times as many terms leave an error that is larger by a fourteenth
}

# gemm_simt: its tiles. The rate is the part of a multiprocessor's peak that is reached on large problems, 2026-11-21
# and, of `loose`, 2026-11-22.
SIMT_TILES = {
    # warps along M, N; groups along M, N; CTAs of a multiprocessor; rate; slices of K; stages
    "tiles": (  #                                with 4 neighbours   each thread   registers up to
        (2, 2, 2, 4, 2, 0.90),  #                128 by 128          8 by 16       255
        (2, 4, 2, 4, 1, 0.885),  #               128 by 256          8 by 16       255
        (2, 2, 2, 2, 3, 0.81),  #                128 by 64           8 by 8        168
        (1, 2, 2, 2, 6, 0.77),  #                64 by 64            8 by 8        168
        (1, 2, 2, 1, 6, 0.57),  #                64 by 32            8 by 4        168
        (1, 2, 1, 1, 8, 0.475),  #               32 by 32            4 by 4        128
        # With what the rate gains where one operand need not be turned on its way, and where both need not: by 369
        # plans of 26 shapes, 2026-12-01, without copies and with copies of one operand or both.
        (1, 2, 2, 2, 2, 0.65, 2, 0, (0.11, 0.28)),  #   64 by 64     8 by 8        255
        (1, 2, 2, 2, 1, 0.585, 4, 0, (0.11, 0.28)),  #  64 by 64     8 by 8        255
        (1, 1, 1, 2, 4, 0.47, 4, 0, (0.11, 0.28)),  #   32 by 32     4 by 8        128
        (1, 1, 1, 1, 2, 0.255, 8, 0, (0.11, 0.28)),  #  32 by 16     4 by 4        128
    ),
    "shared": (  # for CTAs that share tiles along K. By launches of 47 shapes, 2026-12-01
        (1, 2, 2, 4, 4, 0.775, 1, 0, (0.08, 0.10)),  #   64 by 128    8 by 16       255
        (2, 1, 2, 4, 4, 0.775, 1, 0, (0.08, 0.10)),  #   128 by 64    8 by 16       255
    ),
    "loose": (  # instead of those of 4 and more slices of K, where A and B are along K
        (1, 2, 2, 2, 1, 0.665, 4, 5),  #         64 by 64            8 by 8        255
        (1, 1, 2, 2, 2, 0.625, 4, 4),  #         64 by 32            8 by 8        255
        (1, 1, 2, 2, 1, 0.54, 8, 4),  #          64 by 32            8 by 8        255
        (1, 1, 1, 2, 4, 0.51, 4, 4),  #          32 by 32            4 by 8        128
        (1, 1, 1, 1, 1, 0.31, 8, 6),  #          32 by 16            4 by 4        255
    ),
    "others": (  # for elements of other sizes than 4 bytes
        (2, 2, 2, 2, 3, 0.82),
        (1, 2, 2, 2, 6, 0.83),
        (1, 2, 2, 1, 6, 0.64),
        (1, 2, 1, 1, 8, 0.50),
    ),
    "steps": 8,  # along K, of each slice of a tile
    "padded_depth": 16,  # along K, of turned copies at most, where tiles are sliced or come by single elements
}

# gemm_simt: how long a tile takes. Fitted to 1100 launches on 2026-11-22, of 23 shapes in all tiles, with shares and
# without: off by 5 %, and what is chosen by them takes 3 % longer than the best of all. On 2026-11-30 four rates of
# sliced tiles and `occupied_sliced` were corrected by 252 launches of 9 shapes with few tiles.
SIMT_MODEL = {
    "occupied": 0.58,  # of the time of all its CTAs, at least, a multiprocessor takes however few of them it has
    "occupied_sliced": 0.75,  # the same of tiles with slices of K that do not come loosely
    "start": 26,  # steps along K for which a CTA that starts or ends does not multiply
    "adding": 8,  # and so many more for each slice, while sums go through shared memory and are added up
    "products": 225_000,  # that a multiprocessor makes at its peak in a microsecond. In these:
    "sharing": 300_000,  # for what shares cost besides
    "part": 116_000,  # another share's sums of a tile are added,
    "part_sum": 7,  # and for each of them
    "few_sums": 16,  # of a thread, of which those of two shares are added together
    "own_sum": 14,  # for each sum of a share, where it is left
    "least_terms": 128,  # along K, of a share
    "most_parts": 32,  # of a tile
    "totals": 0.05,  # of its rate a tile loses where all are shared and totals are in shared memory; 2026-12-01
}

# gemm_simt: a matrix times up to four vectors. 2026-11-22, benchmarks/results/gemm_few_rows-2026-11-22.md.
GEMV = {
    "most_columns": 4,  # of C
    "least_rows": 64,  # of a matrix; smaller ones were not measured in these tiles
    "least_depth": 256,  # along K; the same
    "least_stages": 3,  # tiles along K that are under way at a time
    "full": 0.9,  # of the multiprocessors, so many have a tile of the largest kind
    "half": 0.45,  # and of the next one
    "long": 48,  # steps along K that sharing tiles must save
    # neighbouring rows; groups of them for each of 8 threads along M; stages; CTAs of a multiprocessor
    "along_k": ((1, 4, 6, 2), (1, 2, 6, 2), (1, 1, 6, 2)),
    "along_m": ((4, 2, 4, 1), (4, 1, 4, 2)),  # the same where A lies along M
}

# gemm_sm80: its tiles, of 2026-11-21; those of fp64 2026-11-22. The last number is their speed on large problems,
# beside the fastest's.
SM80 = {
    # rows; columns; bytes of a row of a step along K; warps along M, N; stages; CTAs of a multiprocessor; rate
    "tiles": (
        (128, 256, 64, (2, 4), 4, 1, 1.0),
        (128, 256, 128, (2, 4), 3, 1, 1.0),
        (256, 128, 64, (4, 2), 4, 1, 1.0),
        (128, 128, 64, (2, 2), 4, 2, 0.95),
        (128, 128, 128, (2, 4), 3, 1, 0.85),
        (64, 128, 64, (1, 4), 4, 2, 0.75),
        (64, 64, 128, (2, 2), 4, 2, 0.6),
    ),
    "narrow": (  # where accesses are narrower than 16 bytes, and registers hold more addresses, or elements themselves
        # Stages are those of cp.async; elements that wait in registers have two or three.
        # Those of few rows, or columns, wait for memory: 1,020 launches of 32 shapes of 16 bits, 2026-11-30.
        # Of 64 by 128, 128 by 64 and 64 by 256 with 128 bytes a row, and of 32 by 64, the addresses spill. TFloat32
        # takes them, too: 50 random shapes of it were timed with them.
        (128, 128, 128, (2, 4), 3, 1, 1.0),
        (64, 64, 128, (2, 2), 4, 2, 0.7),
        (32, 128, 128, (1, 4), 4, 2, 0.6),
        (128, 32, 128, (4, 1), 4, 2, 0.6),
        (64, 32, 128, (2, 2), 5, 2, 0.45),
        (32, 32, 128, (2, 2), 5, 3, 0.3),
        (16, 128, 128, (1, 4), 5, 2, 0.3),
        (128, 16, 128, (4, 1), 5, 2, 0.3),
        (128, 128, 64, (2, 4), 4, 1, 1.0),
        (64, 256, 64, (2, 4), 3, 1, 1.0),
        (64, 128, 64, (2, 2), 4, 2, 0.9),
        (128, 64, 64, (4, 2), 4, 1, 0.9),
        (64, 64, 64, (2, 2), 4, 2, 0.7),
        (128, 32, 64, (4, 1), 5, 2, 0.6),
        (64, 32, 64, (2, 2), 6, 3, 0.5),
        # Four CTAs of a multiprocessor hide each other's beginnings and ends where K is short: 1,644 launches of ten
        # shapes, 2026-11-30. Their addresses spill, up to 176 bytes of a thread's stack; they are faster all the same.
        (64, 64, 64, (2, 2), 4, 4, 0.7),
        (32, 128, 64, (1, 4), 4, 4, 0.6),
        (128, 32, 64, (4, 1), 4, 4, 0.6),
    ),
    "narrow8": (  # the same of 8 bits, of which others spill
        (128, 128, 64, (2, 4), 4, 1, 1.0),
        (64, 64, 64, (2, 2), 4, 2, 0.7),
    ),
    "float64": (  # from Blackwell on without those of 128 rows: the compiler finds no registers for them
        # Those of 96 fill a last wave that others leave nearly empty. Rates: by 2,457 launches, 2026-11-29.
        (128, 128, 128, (2, 4), 3, 1, 0.85),
        (128, 128, 128, (2, 4), 4, 1, 0.75),
        (128, 64, 128, (2, 2), 4, 2, 0.86),
        (96, 128, 128, (2, 4), 3, 1, 0.84),
        (96, 64, 128, (2, 2), 3, 2, 0.81),
        (64, 96, 128, (2, 2), 3, 2, 0.81),
        (64, 64, 128, (2, 2), 3, 2, 0.86),
        (64, 32, 128, (2, 2), 4, 3, 0.7),
        (32, 32, 256, (2, 2), 3, 3, 0.56),
        (32, 16, 256, (2, 1), 4, 4, 0.44),
    ),
    "float8": (  # on Hopper made of conversions and fp16 multiplications, which take registers
        (64, 128, 128, (2, 4), 4, 1, 1.0),
        (64, 64, 128, (2, 2), 4, 2, 0.9),
    ),
    # Of the time of all its CTAs, that a multiprocessor takes for few of them: one alone is faster than half of two.
    "occupied": 0.4,
    "held": 40,  # elements of a step that a thread loads into registers, at most: more do not fit beside its sums
    "few_steps": 4,  # along K, in which two stages of such elements are better than three; 2026-11-30
    # The model: clocks, if nothing else is said. Set by 85 launches of random shapes on 2026-11-29: off by
    # 22 %. `held`, `half_lines`, `at_ease` and `crowded` by those of 32 shapes; `begin` and the stores by 566 of 34
    # shapes with K below 300, 2026-11-30.
    "clock": 1.7e9,  # a second
    "launch": 1.5e-6,  # seconds
    "converted": 0.25,  # of the rate of float8, which is converted to be multiplied
    "issue": 8.3,  # of a warp's cp.async,
    "half_lines": 1.15,  # and so many times as many of narrow ones, where a step has half a line of each row
    "single": 4.0,  # of a warp's access through registers
    "arrival": 400,  # of a step, from asking for it until it may be asked for again
    "load": 1300,  # until the elements of a step are in registers, where there is no cp.async
    "at_ease": 24,  # elements of a thread that this time is for, at most
    "crowded": 42,  # clocks more for each further element of a thread
    "begin": 1500,  # of a tile, until it is multiplied; other CTAs of the multiprocessor fill their part of it
    "store": 16.0,  # bytes a clock of C
    "narrow_store": 8.3,  # the same, by fewer than 16 bytes at a time
    "single_store": 6.2,  # the same, element by element of 2 bytes
}

# gemm_sm90: its configurations. The first of two that are expected to be equally fast is taken. Those that made choices
# for random shapes slower were left out of a family of 819, 2026-11-29. Some of 120 others, which made them faster for
# 263 shapes both ways round, were added, 2026-11-30; then 13 of 90 more, most of them in clusters of four and eight. Of
# those before eight were left out which no plan of 4,100 had.
SM90_CONFIGS = {
    # defaults: two consumers, cooperative, clusters of (1,1), no split, one CTA of a multiprocessor, up to 8 stages
    "configs": (
        {"bM": 128, "bN": 256, "cluster": (2, 1)},
        {"bM": 128, "bN": 256},
        {"bM": 128, "bN": 128, "ping_pong": True, "cluster": (2, 1)},
        {"bM": 128, "bN": 192, "cluster": (2, 1)},
        {"bM": 256, "bN": 128, "cluster": (2, 1)},
        {"bM": 256, "bN": 128},
        {"bM": 128, "bN": 128, "cluster": (2, 1)},
        {"bM": 128, "bN": 128},
        {"bM": 128, "bN": 128, "ping_pong": True},
        {"bM": 64, "bN": 256, "ping_pong": True, "cluster": (2, 1)},
        {"bM": 64, "bN": 128, "consumers": 1},
        {"bM": 64, "bN": 128, "consumers": 1, "cluster": (2, 1)},
        {"bM": 128, "bN": 128, "cluster": (1, 2)},
        {"bM": 128, "bN": 256, "cluster": (1, 2)},
        {"bM": 64, "bN": 128, "consumers": 1, "cluster": (2, 2)},
        {"bM": 128, "bN": 64, "split_k": 2},
        {"bM": 64, "bN": 128, "consumers": 1, "split_k": 2},
        {"bM": 128, "bN": 64, "cluster": (1, 2)},
        {"bM": 128, "bN": 64},
        {"bM": 64, "bN": 64, "consumers": 1},
        {"bM": 64, "bN": 64, "consumers": 1, "split_k": 2, "stages": 20},
        {"bM": 64, "bN": 32, "consumers": 1, "resident": 2, "stages": 12},
        {"bM": 64, "bN": 8, "consumers": 1, "resident": 4, "stages": 6},
        {"bM": 64, "bN": 8, "consumers": 1, "split_k": 2, "stages": 20},
        {"bM": 64, "bN": 8, "consumers": 1, "split_k": 4, "resident": 4, "stages": 6},
        {"bM": 64, "bN": 16, "consumers": 1, "resident": 2, "stages": 12},
        {"bM": 64, "bN": 16, "consumers": 1, "resident": 4, "stages": 6},
        {"bM": 64, "bN": 16, "consumers": 1, "split_k": 2, "stages": 20},
        {"bM": 64, "bN": 16, "consumers": 1, "split_k": 4, "resident": 4, "stages": 6},
        {"bM": 64, "bN": 32, "consumers": 1, "split_k": 2, "stages": 20},
        {"bM": 64, "bN": 32, "consumers": 1, "split_k": 2, "resident": 2, "stages": 12},
        {"bM": 64, "bN": 32, "consumers": 1, "split_k": 4, "resident": 4, "stages": 6},
        {"bM": 64, "bN": 64, "consumers": 1, "split_k": 4, "resident": 4, "stages": 6},
        {"bM": 128, "bN": 8},
        {"bM": 128, "bN": 8, "split_k": 2},
        {"bM": 128, "bN": 16},
        {"bM": 128, "bN": 16, "split_k": 2},
        {"bM": 128, "bN": 32},
        {"bM": 128, "bN": 32, "split_k": 2},
        {"bM": 64, "bN": 80, "consumers": 1, "split_k": 2},
        {"bM": 64, "bN": 96, "consumers": 1, "split_k": 2},
        {"bM": 64, "bN": 160, "consumers": 1, "split_k": 2},
        {"bM": 64, "bN": 192, "consumers": 1, "split_k": 2},
        {"bM": 64, "bN": 256, "consumers": 1, "split_k": 2},
        {"bM": 64, "bN": 80, "consumers": 1, "split_k": 4},
        {"bM": 64, "bN": 96, "consumers": 1, "split_k": 4},
        {"bM": 64, "bN": 160, "consumers": 1},
        {"bM": 64, "bN": 48, "consumers": 1, "split_k": 2, "stages": 20},
        {"bM": 128, "bN": 24, "split_k": 4},
        {"bM": 128, "bN": 128, "split_k": 2},
        {"bM": 128, "bN": 96, "cluster": (1, 2)},
        {"bM": 128, "bN": 96, "cluster": (2, 1)},
        {"bM": 128, "bN": 144, "cluster": (2, 1)},
        {"bM": 128, "bN": 144, "cluster": (1, 2)},
        {"bM": 128, "bN": 160, "cluster": (1, 2)},
        {"bM": 128, "bN": 160, "cluster": (2, 1)},
        {"bM": 128, "bN": 80, "cluster": (1, 2)},
        {"bM": 128, "bN": 160},
        {"bM": 128, "bN": 192},
        {"bM": 128, "bN": 224, "cluster": (2, 1)},
        {"bM": 192, "bN": 96, "consumers": 3, "cluster": (1, 2)},
        {"bM": 192, "bN": 192, "consumers": 3},
        {"bM": 128, "bN": 224},
        {"bM": 128, "bN": 80, "cluster": (2, 1)},
        {"bM": 64, "bN": 256, "consumers": 1},
        {"bM": 192, "bN": 128, "consumers": 3, "cluster": (2, 1)},
        {"bM": 64, "bN": 8, "consumers": 1, "split_k": 4, "stages": 20},
        {"bM": 64, "bN": 16, "consumers": 1, "split_k": 4, "stages": 20},
        {"bM": 64, "bN": 32, "consumers": 1, "split_k": 4, "stages": 20},
        {"bM": 64, "bN": 40, "consumers": 1, "split_k": 4, "stages": 20},
        {"bM": 64, "bN": 64, "consumers": 1, "cluster": (4, 2), "stages": 13},
        {"bM": 64, "bN": 80, "consumers": 1, "cluster": (1, 2), "stages": 13},
        {"bM": 64, "bN": 80, "consumers": 1, "cluster": (1, 4), "stages": 13},
        {"bM": 64, "bN": 96, "consumers": 1, "cluster": (2, 1), "stages": 13},
        {"bM": 64, "bN": 112, "consumers": 1},
        {"bM": 64, "bN": 120, "consumers": 1, "cluster": (1, 4)},
        {"bM": 64, "bN": 128, "consumers": 1, "cluster": (1, 2)},
        {"bM": 64, "bN": 128, "consumers": 1, "cluster": (1, 4)},
        {"bM": 64, "bN": 128, "ping_pong": True},
        {"bM": 64, "bN": 136, "consumers": 1, "cluster": (1, 2)},
        {"bM": 64, "bN": 144, "consumers": 1, "resident": 2, "stages": 6},
        {"bM": 64, "bN": 144, "consumers": 1, "cluster": (1, 4)},
        {"bM": 64, "bN": 256, "consumers": 1, "resident": 2, "stages": 6},
        {"bM": 128, "bN": 48, "cluster": (2, 1), "stages": 13},
        {"bM": 128, "bN": 64, "split_k": 4},
        {"bM": 128, "bN": 80, "resident": 2, "stages": 6},
        {"bM": 128, "bN": 112, "cluster": (2, 2)},
        {"bM": 128, "bN": 168},
        {"bM": 128, "bN": 208, "cluster": (2, 1)},
        {"bM": 192, "bN": 56, "consumers": 3},
        {"bM": 192, "bN": 120, "consumers": 3, "cluster": (1, 2)},
        {"bM": 192, "bN": 160, "consumers": 3, "cluster": (2, 1)},
        {"bM": 192, "bN": 176, "consumers": 3},
        {"bM": 192, "bN": 176, "consumers": 3, "cluster": (1, 2)},
        {"bM": 192, "bN": 192, "consumers": 3, "cluster": (1, 2)},
        {"bM": 256, "bN": 64},
        {"bM": 256, "bN": 144, "cluster": (1, 2)},
        {"bM": 128, "bN": 80, "split_k": 2},
        {"bM": 128, "bN": 96, "split_k": 2},
        {"bM": 128, "bN": 96, "cluster": (1, 4)},
        {"bM": 128, "bN": 112, "cluster": (2, 1)},
        {"bM": 128, "bN": 176, "cluster": (2, 1)},
        {"bM": 64, "bN": 96, "consumers": 1, "cluster": (1, 2), "stages": 13},
        {"bM": 64, "bN": 96, "consumers": 1, "cluster": (4, 2), "stages": 13},
        {"bM": 128, "bN": 80, "cluster": (2, 2)},
        {"bM": 128, "bN": 96},
        {"bM": 128, "bN": 96, "cluster": (2, 2)},
        {"bM": 128, "bN": 104},
        {"bM": 128, "bN": 104, "cluster": (1, 2)},
        {"bM": 128, "bN": 112, "cluster": (1, 2)},
        {"bM": 128, "bN": 120},
        {"bM": 128, "bN": 120, "cluster": (1, 2)},
        {"bM": 128, "bN": 168, "cluster": (1, 2)},
        {"bM": 128, "bN": 200},
        {"bM": 128, "bN": 200, "cluster": (1, 2)},
        {"bM": 128, "bN": 224, "cluster": (1, 2)},
        {"bM": 128, "bN": 240, "cluster": (2, 1)},
        {"bM": 192, "bN": 136, "consumers": 3},
        {"bM": 192, "bN": 144, "consumers": 3},
        {"bM": 192, "bN": 160, "consumers": 3, "cluster": (1, 2)},
        {"bM": 192, "bN": 168, "consumers": 3, "cluster": (1, 2)},
        {"bM": 256, "bN": 112, "cluster": (2, 1)},
        {"bM": 256, "bN": 152, "cluster": (1, 2)},
        {"bM": 256, "bN": 160, "cluster": (2, 1)},
        {"bM": 128, "bN": 128, "cluster": (1, 8)},
        {"bM": 128, "bN": 216, "cluster": (2, 1)},
        {"bM": 128, "bN": 80, "cluster": (1, 4)},
        {"bM": 128, "bN": 144, "cluster": (4, 1)},
        {"bM": 64, "bN": 128, "consumers": 1, "cluster": (8, 1)},
        {"bM": 128, "bN": 200, "cluster": (2, 1)},
        {"bM": 256, "bN": 128, "cluster": (4, 2)},
        {"bM": 256, "bN": 136, "cluster": (1, 2)},
        {"bM": 128, "bN": 72, "cluster": (2, 1)},
        {"bM": 128, "bN": 32, "cluster": (8, 1)},
        {"bM": 64, "bN": 128, "consumers": 1, "cluster": (1, 8)},
        {"bM": 128, "bN": 80, "cluster": (4, 1)},
        {"bM": 128, "bN": 96, "cluster": (4, 1)},
    ),
    # Steps along K: what takes time is to write C, whose rows are then written together, by CTAs that do not run ahead.
    "few_steps": 4,
    "few_group": 2,  # tiles along M taken together there,
    "many_group": 8,  # and from so many on:
    "many_rows": 32,  # tiles along M
    "group_rows": 2048,  # rows of the tiles along M that are taken together, otherwise
    # Where rows do not begin at the L2's lines, fewer stages of 64 by 128 are on their way: 1000^3 took 3 % longer with
    # 8. Where they do, 1024^3 in the same clusters took 5 % longer with 6 than with 7. 2026-11-22.
    "broken_stages": 6,
    "held_steps": 8,  # along K, of B that stays in shared memory, at most
    # When configurations are tried with tiles that are shared along K, too: of one cooperative CTA a multiprocessor, in
    # clusters of two at most, and where there is a whole round of tiles. With less than that 32 of 37 shapes, which the
    # model would have shared, took longer than without, by up to 46 %. 2026-11-30.
    "shared_full": 0.9,  # of the last wave: below this
    "shared_steps": 16,  # along K, at least
    "shared_sums": 24576,  # of a tile, at least: with fewer 3 of 3 shapes took 15 to 24 % longer than without
    "most_shared_sums": 32768,  # the same, at most: 640x14336x4096 took 1.34 times as long as expected by 256 by 160
    "shared_parts": 7,  # of other shares, that are added to those of a tile's first one, at most
    "shared_gain": 0.97,  # the part of the time that may be left: less than this the model does not tell apart
}

# gemm_sm90: the model, in clocks unless said otherwise. Fitted on 2026-11-29 to 6,700 launches of 900 shapes; `fetches`
# on 2026-11-30 to 2,080 launches of 170 shapes; `broken_sectors`, `latency`, `store`, `asking` and `written` then to
# 1,316 launches of 160 shapes, and `crowded` to those of 263. Then `cluster`, `exchange`, `anew`, `box`, `memory`,
# `again`, `sharpness`, `direct`, `broken_rows`, `joining`, `hot` and `hot_sectors` to 4,086 launches of 416 shapes.
SM90_MODEL = {
    "clock": 1.79e9,  # clocks a second
    "ingest": 84.5,  # bytes a clock that come into a multiprocessor
    "stream": 48.5,  # the same of rows of `few_tiles` or less, which come from memory
    "few_tiles": 2,  # tiles that share rows
    "broken_lines": 1.2,  # times as fast it takes the bytes of lines that rows of C share: 34 launches, 2026-11-30
    "broken_rows": 1.35,  # how much more the L2 gives where rows do not begin at its lines of 128 bytes
    "broken_sectors": 2.0,  # the same where they do not begin at its sectors of 32 bytes
    "latency": 1430,  # of a stage, from asking for it until it may be asked for again
    "launch": 9.85e-07,  # seconds
    "fill": 655,  # to start
    "cluster": 560,  # to start, besides, in a cluster
    "split": 273,  # to begin the exchange of sums
    "exchange": 20.0,  # bytes a clock, of sums that are read from other CTAs of a cluster
    "store": 18.6,  # bytes a clock
    "box": 97,  # clocks of each box of C, besides
    "memory": 4.3e12,  # bytes a second, that are read
    "again": 1.7e13,  # the same of rows that several clusters ask for, but for the first time
    "asking": 5,  # clusters of which that counts, at most: more find them in the L2
    "written": 3.9e12,  # the same of C
    "begun": 148,  # clocks of a tile, besides: barriers, and until its first stage is there
    "outstanding": 8,  # stages of a CTA that are asked for at a time: more do not help
    "kept": 0.525,  # of them, that are not asked for, since they are read
    "sharpness": 4.7,  # of what overlaps: the p of the p-norm of the times
    "fetches": 0.049,  # of the time that the L2 needs
    "l2": 3.1e12,  # bytes a second
    "hot": 0.4,  # requests a clock for each line that all multiprocessors ask for
    "hot_sectors": 5.0,  # times as many where rows do not begin at its sectors
    "lead": 4,  # steps along K whose lines they ask for at a time
    "direct": 750,  # clocks, to store by warps
    "across": 1.35,  # times as long as boxes along N take single elements along M; 12 pairs of plans, 2026-11-30
    "overlapped": 0.957,  # of storing a tile, in ping-pong
    "unused": 0.189,  # how much longer the memory takes where stages hold rows outside of the tensors only
    "crowded": 1.04,  # how much longer a step takes where a consumer adds up more columns than this:
    "crowding": 288,  # columns of 64 rows
    "anew": 2200,  # to start each further tile whose sums are exchanged: nothing of it was fetched before
    "quads": 0.9090909090909091,  # 120 of 132 multiprocessors have a place in a cluster of more than two
    # Of tiles that are shared along K, fitted to 187 launches of 16 shapes:
    "part": 60.0,  # bytes a clock, of sums that a share leaves in the L2, or gets from there
    "joining": 8000,  # until those of other shares are there
}

# Copies, by the bytes of an element. 2026-11-21, benchmarks/results/copy-2026-11-21.md.
COPY = {
    "threads": 256,  # of a staged copy
    "direct_threads": 128,  # of a direct one
    "direct_bytes": {1: 16, 2: 16, 4: 32, 8: 32, 16: 32},  # that each of them moves, by the bytes of an access
    # Elements of a staged tile along the source's contiguous mode and along the destination's.
    "run": {1: (256, 64), 2: (128, 128), 4: (64, 64), 8: (32, 32), 16: (16, 16)},
    # The same where rows begin anywhere.
    "realigned_run": {1: (128, 128), 2: (128, 64), 4: (128, 64), 8: (64, 32), 16: (16, 16)},
    # The same where the source's rows begin anywhere, and the destination's are aligned.
    "src_realigned_run": {1: (128, 128), 2: (128, 64), 4: (64, 32), 8: (64, 32), 16: (16, 16)},
    "long": 512,  # bytes of a row from which on it pays to realign it,
    "narrowest": 2,  # or to access it as it lies, by so many bytes and more
    "tile_bytes": 8192,  # a staged tile is enlarged up to here
    "largest": 32768,  # bytes of a staged tile with short rows
    "smallest": 4096,  # bytes of one that is cut so that there are more tiles,
    "shortest": 64,  # and of its rows
    "large": 131072,  # bytes of the copies that are worth it to cut tiles, or to look for packed ones
    "pads": ((1, 2, 4, 8, 16), (1, 2, 3, 4, 6, 8, 12, 16, 20)),  # elements behind rows of shared memory; for short rows
}

# Copies whose tiles cover several modes. Instructions were counted in the machine code for sm_90a on 2026-11-29.
PACKED_COPY = {
    "runs": (64, 128, 256, 512),  # bytes that are to lie together in the source and in the destination
    "least": 12288,  # bytes of a tile that is enlarged up to here
    "most": 45056,  # bytes of shared memory
    # Instructions of a warp:
    "read": 22.0,  # for 16 bytes a thread of the source
    "read_apart": 38.0,  # where they are put into shared memory by several accesses
    "word": 36.0,  # for a word of the destination, but for its elements:
    "element": 2.75,  # each of them,
    "column": 3.0,  # and besides where a run has several columns
    "turn": {1: 12.0, 2: 12.0, 4: 8.0, 8: 4.0, 16: 0.0},  # to bring elements into order, by their bytes
    "end": 45.0,  # for words that are stored in part
    "entry": 120.0,  # for a run of either side
    "place": 40.0,  # for a column
    "tile": 600.0,  # for a tile, all warps together
    "usual": 1.5,  # wavefronts in which a warp takes an element of each of its words, before that is looked at
    "many": 2112,  # CTAs that are enough, so that each may have
    "again": 4,  # tiles one after another, if their runs have many columns
}

# The clocks of all copies, by which their plans are compared. Fitted to 799 plans of 169 random copies of three types.
COPY_COST = {
    # Of a multiprocessor in a clock:
    "bytes": 23.3,  # of the memory's sectors
    "instructions": 3.4,  # of warps
    "wavefronts": 1.12,  # of shared memory and the L1
    "hidden": 0.12,  # of the shorter times that does not overlap with the longest one
    # Of the device:
    "clock": 1.78e9,  # clocks a second
    "launch": 1.87e-6,  # seconds of a launch
    "fetch": 1.85,  # clocks until a multiprocessor has an instruction of the program for the first time
    "resident": 4.0,  # CTAs that it has at once, from which on it does not matter that some have one more
    # Clocks in which a CTA waits for its memory:
    "rows": 475.0,  # of a direct or staged copy
    "tile": 1300.0,  # for a tile of a packed one
    "step": 2.8,  # for an instruction of each of its warps
    "element": 400.0,  # for an element of the source that is read after another, at an end of the tensor
    "clearly": 0.95,  # of the time of rows that a packed copy may take at most, if it is to be preferred
}
