"""Launches of kernels with several parameters, clusters and other attributes, on a driver made for the tests."""

from __future__ import annotations

import test_driver

fake = test_driver.fake
run = test_driver.run


def test_several_parameters(fake):
    """Each parameter is pointed at where it begins, however many there are."""
    code = """
        load()
        function = cuda.load(0, b"cubin").function("kernel", [8 * i for i in range(COUNT)])
        assert function.parameter_bytes is None or COUNT == 1
        log()
        import struct
        words = [7 * i + 1 for i in range(COUNT)]
        function.launch((3, 1, 1), (32, 1, 1), 0, 5, struct.pack(f"{COUNT}Q", *words))
        assert log()[1] == "cuLaunchKernel (3,1,1) (32,1,1) 0 stream 5 params " + " ".join(map(str, words))
    """
    for count in (1, 3, 16, 17, 40):
        environment = {"FAKE_PARAMETERS": str(count), "FAKE_MISSING": "cuFuncGetParamInfo"}
        run(fake, code.replace("COUNT", str(count)), **environment)


def test_no_parameters(fake):
    code = """
        load()
        function = cuda.load(0, b"cubin").function("kernel", [])
        log()
        function.launch((1, 1, 1), (32, 1, 1), 0, 0, b"")
        assert log()[1] == "cuLaunchKernel (1,1,1) (32,1,1) 0 stream 0 params"
    """
    run(fake, code, FAKE_PARAMETERS="0")


def test_where_the_driver_puts_a_parameter_does_not_matter(fake):
    """A struct that is aligned to 64 bytes, as one with tensor maps, lies behind a gap in the driver's own memory."""
    code = """
        function = load()
        log()
        function.launch((1, 1, 1), (1, 1, 1), 0, 0, bytes(16))
        assert log()[1].startswith("cuLaunchKernel (1,1,1)")
        print(error_of(lambda: function.launch((1, 1, 1), (1, 1, 1), 0, 0, bytes(8)), ValueError))
    """
    assert run(fake, code, FAKE_OFFSET="48") == "launch of kernel: its parameter has 16 bytes, but 8 were given\n"


def test_attributes(fake):
    code = """
        f = load()
        given = (4, 2, 1), (32, 1, 1), 0, 5, bytes(16)
        launch = "cuLaunchKernelEx (4,2,1) (32,1,1) 0 stream 5 params 0 0 attribute "
        for options, expected in (
            ({"cluster": (2, 1, 1)}, "4=2,1,1 of 1"),
            ({"cooperative": True}, "2=1 of 1"),
            ({"cluster": (4, 2, 1), "cooperative": True}, "2=1 attribute 4=4,2,1 of 2"),
            ({"cluster": (1, 2, 1), "programmatic": True}, "6=1 attribute 4=1,2,1 of 2"),
            ({"completion_event": (7, 3, False)}, "12=7,0,3,0 of 1"),
            ({"programmatic_event": (9, 0, True)}, "7=9,0,0,1 of 1"),
            (
                {"completion_event": (7, 0, False), "programmatic_event": (1 << 32, 1, False), "programmatic": True},
                "6=1 attribute 7=0,1,1,0 attribute 12=7,0,0,0 of 3",
            ),
        ):
            f.launch(*given, **options)
            assert log() == ["push 0", launch + expected, "pop"]
        f.launch(*given, cluster=(1, 1, 1), completion_event=(0, 0, False))
        assert log()[1].startswith("cuLaunchKernel (4,2,1)")
    """
    run(fake, code)


def test_devices_without_programmatic_launches_begin_in_turn(fake):
    code = """
        load().launch((4, 2, 1), (32, 1, 1), 0, 5, bytes(16), programmatic=True)
        assert log()[-2].startswith(EXPECTED), log()
    """
    for major, expected in (("8", "cuLaunchKernel (4,2,1)"), ("9", "cuLaunchKernelEx (4,2,1)")):
        run(fake, code.replace("EXPECTED", repr(expected)), FAKE_MAJOR=major)


def test_clusters_that_do_not_fit(fake):
    code = """
        f = load()
        for grid, cluster in (((4, 2, 1), (3, 1, 1)), ((4, 2, 1), (0, 1, 1)), ((32, 2, 1), (16, 2, 1))):
            print(error_of(lambda: f.launch(grid, (32, 1, 1), 0, 0, bytes(16), cluster=cluster), ValueError))
    """
    assert run(fake, code).splitlines() == [
        "launch of kernel: grid (4,2,1) has 4 blocks along x, which clusters of 3 do not divide; round the grid up",
        "launch of kernel: cluster (0,1,1) has 0 along x; it must be from 1 to 16",
        "launch of kernel: cluster (16,2,1) has 32 blocks; it can have at most 16",
    ]


def test_a_launch_that_the_driver_refuses(fake):
    """Programs tell errors by their numbers, which have two names."""
    code = """
        f = load()
        FAKE.fake_fail(b"cuLaunchKernelEx", 720)
        error = error_of(lambda: f.launch((4, 2, 1), (32, 1, 1), 0, 5, bytes(16), cooperative=True))
        print(error.code, error.error_code)
        assert cuda.DriverError("made here").error_code is None
    """
    assert run(fake, code) == "720 720\n"
