"""What holds for the files of a release, whatever the binaries are."""

import base64
import csv
import hashlib
import json
import re
import subprocess
import tarfile
import tempfile
import tomllib
import unittest
import zipfile
from pathlib import Path
from unittest import mock

from release import __main__, archives, build, components, contents, environment, npm, sums, wheels
from release.archives import Entry
from release.build import Library
from release.platforms import ROOT, Platform, ReleaseError, chosen, host, platforms


class Folder(unittest.TestCase):
    """A test with an empty folder."""

    def setUp(self) -> None:
        """Makes the folder."""
        self.folder = Path(self.enterContext(tempfile.TemporaryDirectory()))

    def fake_library(self, platform: Platform) -> Library:
        """Makes files that stand for a built library."""
        folder = self.folder / "built" / platform.name
        folder.mkdir(parents=True, exist_ok=True)
        for name in ("shared", "static", "imports"):
            (folder / name).write_text(f"{name} of {platform.name}")
        return Library(folder / "shared", folder / "static", folder / "imports" if platform.is_windows else None)


class Archives(Folder):
    """The bytes of archives."""

    def test_same_files_give_same_bytes(self) -> None:
        """Neither the order nor the folder nor the time of packing counts."""
        entries = {"b": Entry(b"two"), "a": Entry(b"one", is_program=True)}
        turned = dict(reversed(entries.items()))
        for name in ("x.tar.gz", "x.zip"):
            first, second = self.folder / "first" / name, self.folder / "second" / name
            archives.write(first, entries)
            with mock.patch("time.time", return_value=2_000_000_000):
                archives.write(second, turned)
            self.assertEqual(first.read_bytes(), second.read_bytes())

    def test_tar_has_modes_links_and_no_owner(self) -> None:
        """A program can be run after unpacking, and links lead to it."""
        archive = self.folder / "x.tar.gz"
        archives.write(archive, {"run": Entry(b"!", is_program=True), "text": Entry(b"?"), "link": Entry(link="run")})
        with tarfile.open(archive) as tar:
            run, text, link = (tar.getmember(f"x/{name}") for name in ("run", "text", "link"))
        self.assertEqual((run.mode, text.mode, link.linkname), (0o755, 0o644, "run"))
        self.assertEqual((run.uid, run.gid, run.uname, run.mtime), (0, 0, "", environment.commit_time()))

    def test_a_full_disk_leaves_no_part_of_a_file(self) -> None:
        """A part would be published with a sum that is right."""

        def fail(path: Path, content: bytes) -> int:
            path.open("wb").write(content[:1])
            raise OSError(28, "no space left")

        archive = self.folder / "x.tar.gz"
        with mock.patch.object(Path, "write_bytes", fail), self.assertRaises(OSError):
            archives.write(archive, {"a": Entry(b"one")})
        self.assertEqual(list(self.folder.iterdir()), [])

    def test_sums_are_right(self) -> None:
        """The list has each file once, and not itself."""
        (self.folder / "one").write_text("1")
        sums.write(self.folder)
        sums.write(self.folder)
        expected = f"{hashlib.sha256(b'1').hexdigest()}  one\n"
        self.assertEqual((self.folder / sums.NAME).read_text(), expected)


class Contents(Folder):
    """What is in the archives."""

    def test_library_archives(self) -> None:
        """Each platform has the names that its linker looks for."""
        version, compatible = environment.version(), environment.compatible_version()
        shared = {
            "linux-x64": ["lib/libcallstack.so", f"lib/libcallstack.so.{compatible}", f"lib/libcallstack.so.{version}"],
            "darwin-arm64": [
                f"lib/libcallstack.{version}.dylib",
                f"lib/libcallstack.{compatible}.dylib",
                "lib/libcallstack.dylib",
            ],
            "win32-x64": ["bin/callstack.dll", "lib/libcallstack.dll.a"],
        }
        common = ["LICENSE-APACHE", "LICENSE-MIT", "LICENSE-THIRD-PARTY", "include/callstack.h", "lib/libcallstack.a"]
        for platform in chosen(list(shared)):
            archive = contents.library_archive(platform, self.fake_library(platform), self.folder)
            names = names_in(archive)
            self.assertEqual(names, sorted([*common, "lib/pkgconfig/callstack.pc", *shared[platform.name]]))

    def test_the_archive_for_linux_has_what_make_install_installs(self) -> None:
        """The same names, and the same file for pkg-config except for the prefix."""
        built = self.folder / "build"
        built.mkdir()
        for name in ("libcallstack.a", "libcallstack.so"):
            (built / name).write_text(name)
        prefix = self.folder / "installed"
        install = [str(ROOT / "scripts" / "install-library"), str(built), environment.version(), str(prefix)]
        environment.output(install)
        archive = contents.library_archive(platforms()[0], self.fake_library(platforms()[0]), self.folder)
        installed = sorted(file.relative_to(prefix).as_posix() for file in prefix.rglob("*") if not file.is_dir())
        self.assertEqual(installed, [name for name in names_in(archive) if not name.startswith("LICENSE")])
        config = (prefix / "lib" / "pkgconfig" / "callstack.pc").read_text()
        expected = contents.package_config(platforms()[0]).replace("${pcfiledir}/../..", str(prefix))
        self.assertEqual(config, expected)

    def test_builds_in_two_folders_agree(self) -> None:
        """All archives and SBOMs of the same binaries have the same bytes."""
        one, two = self.folder / "one", self.folder / "two"
        for folder in (one, two):
            for platform in chosen(["linux-x64", "win32-x64"]):
                library = self.fake_library(platform)
                manual = {"completions/callstack.bash": Entry(b"complete")}
                contents.library_archive(platform, library, folder)
                contents.program_archive(platform, library.shared, manual, folder)
            sums.write(folder)
        self.assertEqual((one / sums.NAME).read_text(), (two / sums.NAME).read_text())
        self.assertEqual(len(list(one.iterdir())), 9)

    def test_every_part_has_a_licence_text(self) -> None:
        """Or a licence whose text is in the archive anyway, or is in the public domain."""
        for product in (components.LIBRARY, components.PROGRAM):
            for platform in platforms():
                for part in components.linked(product, platform)[1:]:
                    known = (
                        "Apache-2.0" in part.license or part.license == "blessing" or part.name.startswith("callstack-")
                    )
                    self.assertTrue(part.texts or known, f"{part.name}: {part.license}")

    def test_sbom_names_what_is_linked(self) -> None:
        """SQLite and the standard library are in it, what only builds is not, and nothing depends on time."""
        platform = chosen(["linux-x64"])[0]
        archive = contents.library_archive(platform, self.fake_library(platform), self.folder)
        sbom = json.loads((self.folder / archive.name.replace(".tar.gz", ".cdx.json")).read_text())
        names = {part["name"] for part in sbom["components"]}
        self.assertLessEqual({"sqlite", "rust-std", "libsqlite3-sys", "serde_core", "libunwind"}, names)
        self.assertFalse({"serde_derive", "syn", "cbindgen", "cc", "clap"} & names)
        self.assertNotIn("timestamp", sbom["metadata"])
        self.assertNotIn("serialNumber", sbom)
        known = {part["bom-ref"] for part in sbom["components"]} | {sbom["metadata"]["component"]["bom-ref"]}
        for entry in sbom["dependencies"]:
            self.assertLessEqual({entry["ref"], *entry["dependsOn"]}, known)


class Npm(Folder):
    """The npm packages."""

    def test_platform_packages(self) -> None:
        """npm can choose by system, processor and C library, nothing runs at installation, and bytes are stable."""
        one, two = self.folder / "one", self.folder / "two"
        asked = chosen(["linux-arm64-musl", "win32-x64"])
        with mock.patch.object(npm, "STAGED", self.folder / "staged"):
            for platform in asked:
                npm.stage(platform, self.fake_library(platform))
            for folder in (one, two):
                folder.mkdir()
                npm.pack(asked, folder)
        for archive in one.iterdir():
            self.assertEqual(archive.read_bytes(), (two / archive.name).read_bytes(), archive.name)
        version = environment.version()
        musl = manifest(one / f"callstack-core-linux-arm64-musl-{version}.tgz")
        self.assertEqual((musl["os"], musl["cpu"], musl["libc"]), (["linux"], ["arm64"], ["musl"]))
        windows = manifest(one / f"callstack-core-win32-x64-{version}.tgz")
        self.assertEqual((windows["os"], windows.get("libc")), (["win32"], None))
        core = manifest(one / f"callstack-core-{version}.tgz")
        expected = {f"callstack-core-{platform.name}": version for platform in platforms()}
        self.assertEqual(core["optionalDependencies"], expected)
        for archive in one.iterdir():
            scripts = manifest(archive).get("scripts", {})
            assert isinstance(scripts, dict)
            self.assertFalse({"preinstall", "install", "postinstall", "prepare"} & scripts.keys())
            names = [name for name in names_in(archive) if not name.startswith("dist/")]
            libraries = [name for name in names if "callstack." in name]
            texts = ["LICENSE-APACHE", "LICENSE-MIT", "README.md", "package.json"]
            third_party = ["LICENSE-THIRD-PARTY"] if libraries else []
            self.assertEqual(names, sorted([*texts, *libraries, *third_party]))


class Wheels(Folder):
    """The Python package."""

    def test_wheels(self) -> None:
        """Each has the library of its platform, the tags by which pip chooses it, and right sums; bytes are stable."""
        for platform in platforms():
            library = self.fake_library(platform).shared
            wheel = wheels.pack(platform, library, self.folder / "one")
            again = wheels.pack(platform, library, self.folder / "two")
            self.assertEqual((wheel.name, wheel.read_bytes()), (again.name, again.read_bytes()))
            self.assertEqual(wheel.name, f"callstack_core-{environment.version()}-py3-none-{platform.wheel}.whl")
            with zipfile.ZipFile(wheel) as file:
                content = {name: file.read(name) for name in file.namelist()}
                mode = file.getinfo(f"callstack_core/{platform.shared_library}").external_attr >> 16
            self.assertEqual(content[f"callstack_core/{platform.shared_library}"], library.read_bytes())
            self.assertEqual(mode & 0o777, 0o755)
            information = f"callstack_core-{environment.version()}.dist-info"
            record = f"{information}/RECORD"
            listed = {name: (digest, size) for name, digest, size in csv.reader(content[record].decode().splitlines())}
            for name, value in content.items():
                digest = base64.urlsafe_b64encode(hashlib.sha256(value).digest()).decode().rstrip("=")
                self.assertEqual(
                    listed.pop(name), ("", "") if name == record else (f"sha256={digest}", str(len(value)))
                )
            self.assertEqual(listed, {})
            for name in ("callstack_core/py.typed", f"{information}/licenses/LICENSE-THIRD-PARTY"):
                self.assertIn(name, content)
            self.assertEqual(
                re.findall(r"^Tag: py3-none-(.*)$", content[f"{information}/WHEEL"].decode(), re.MULTILINE),
                platform.wheel.split("."),
            )

    def test_tags_promise_what_the_binaries_need(self) -> None:
        """The versions of glibc and macOS in the tags are those that the libraries are built for."""
        for platform in platforms():
            promised = platform.glibc or platform.macos
            if promised:
                self.assertIn(promised.replace(".", "_"), platform.wheel)
            elif platform.libc == "musl":
                self.assertTrue(platform.wheel.startswith("musllinux_1_2_"))

    def test_versions_are_written_as_python_does(self) -> None:
        """pip refuses others."""
        for version, expected in {"0.2.0": "0.2.0", "0.2.0-rc.1": "0.2.0rc1", "1.0.0-beta.2": "1.0.0b2"}.items():
            self.assertEqual(wheels.wheel_version(version), expected)


class Build(unittest.TestCase):
    """How cargo is run."""

    def test_profile_is_that_of_the_makefile(self) -> None:
        """A library of a release is optimized like one that `make native` builds: by the manifest alone."""
        makefile = (ROOT / "Makefile").read_text()
        self.assertIn(f"build --profile {environment.PROFILE} -p callstack-native", makefile)
        self.assertIn(f"[profile.{environment.PROFILE}]", (ROOT / "Cargo.toml").read_text())
        variables = environment.of_cargo(host(), [])
        self.assertEqual([name for name in variables if name.startswith("CARGO_PROFILE_")], [])
        flags = variables["CARGO_ENCODED_RUSTFLAGS"].split("\x1f")
        self.assertEqual([flag for flag in flags if not flag.startswith("--remap-path-prefix=")], [])

    def test_environment_is_that_of_no_caller(self) -> None:
        """Variables that change what is built do not reach cargo."""
        platform = host()
        unwanted = {
            "RUSTFLAGS": "-C debuginfo=2",
            "CFLAGS": "-O0",
            "MAKEFLAGS": "-j",
            "CARGO_PROFILE_RELEASE_DEBUG": "1",
        }
        before = environment.of_cargo(platform, [])
        with mock.patch.dict("os.environ", unwanted):
            self.assertEqual(environment.of_cargo(platform, []), before)

    def test_one_failure_stops_nothing(self) -> None:
        """A platform that cannot be built is named, and what comes after it is tried."""
        table = __main__.Table()
        with mock.patch.object(build, "install_target", side_effect=ReleaseError("its Rust target is missing")):
            for platform in chosen(["linux-arm64", "darwin-x64"]):
                self.assertFalse(__main__.add_platform(table, platform, {}))
        self.assertEqual(len(table.lines), 2)
        self.assertIn("darwin-x64", table.lines[1])
        self.assertIn("skipped: its Rust target is missing", table.lines[1])

    def test_a_fault_stops_nothing(self) -> None:
        """A disk that is full, or a fault of this package, is a line in the table too."""
        table = __main__.Table()
        self.assertFalse(table.attempt("linux-x64", "C library", mock.Mock(side_effect=OSError(28, "no space left"))))
        self.assertIn("C library: OSError: [Errno 28] no space left", table.lines[0])
        with self.assertRaisesRegex(ReleaseError, "does not know the crate nothing 0.0.0"):
            components.crate("nothing", "0.0.0")

    def test_the_compiler_writes_no_paths(self) -> None:
        """Each compilation of a file gives the same bytes, for every system, whatever folder the compiler works in."""
        with tempfile.TemporaryDirectory() as folder:
            source = Path(folder) / "one.c"
            source.write_text("int one(void) { return 1; }")
            for platform in chosen(["linux-x64", "darwin-arm64", "win32-x64"]):
                target = platform.target.replace("-unknown", "").replace("-pc", "").replace("apple-darwin", "macos")
                compiled = []
                for cache in ("first", "second"):
                    object_file = Path(folder) / "one.o"
                    places = dict.fromkeys(("ZIG_GLOBAL_CACHE_DIR", "ZIG_LOCAL_CACHE_DIR"), f"{folder}/{cache}")
                    command = [str(environment.ZIG), "cc", "-target", target, *environment.c_flags(platform)]
                    env = {**environment.base(), **places}
                    subprocess.run([*command, "-c", str(source), "-o", str(object_file)], env=env, check=True)
                    compiled.append(object_file.read_bytes())
                self.assertEqual(compiled[0], compiled[1], platform.name)
                self.assertNotIn(folder.encode(), compiled[0], platform.name)

    def test_binaries_for_windows_have_no_time(self) -> None:
        """Two runs of the linker give the same bytes."""
        with tempfile.TemporaryDirectory() as folder:
            library = Path(folder) / "one.dll"
            # The end of the header of DOS says where that of Windows begins: with the processor and the sections.
            start = b"MZ" + bytes(58) + (0x48).to_bytes(4, "little") + bytes(8) + b"PE\0\0" + b"\x64\x86" + b"\1\0"
            library.write_bytes(start + b"time" + b"the rest")
            build.clear_time(library)
            self.assertEqual(library.read_bytes(), start + bytes(4) + b"the rest")
            library.write_bytes(b"\x7fELF" + bytes(200))
            with self.assertRaisesRegex(ReleaseError, "one.dll is no binary for Windows"):
                build.clear_time(library)

    def test_unknown_platform_is_refused(self) -> None:
        """The message lists the known ones."""
        with self.assertRaisesRegex(ReleaseError, "no platform beos; the platforms are linux-x64, "):
            chosen(["beos"])

    def test_binstall_finds_the_archives(self) -> None:
        """`cargo binstall` computes the same names."""
        manifest = tomllib.loads((ROOT / "cli" / "Cargo.toml").read_text())
        overrides = manifest["package"]["metadata"]["binstall"]["overrides"]
        self.assertEqual(set(overrides), {platform.target for platform in platforms()})
        for platform in platforms():
            url = overrides[platform.target]["pkg-url"].replace("{ version }", environment.version())
            folder = overrides[platform.target]["bin-dir"].replace("{ version }", environment.version()).split("/")[0]
            archive = contents.archive_name("callstack", platform)
            self.assertEqual((url.split("/")[-1], folder), (archive, re.sub(r"\.(tar\.gz|zip)$", "", archive)))


def names_in(archive: Path) -> list[str]:
    """Returns the names in an archive, without its folder, sorted."""
    if archive.suffix == ".zip":
        names = zipfile.ZipFile(archive).namelist()
    else:
        with tarfile.open(archive) as tar:
            names = tar.getnames()
    return sorted(name.split("/", 1)[1] for name in names)


def manifest(archive: Path) -> dict[str, object]:
    """Returns the package.json of an npm package."""
    with tarfile.open(archive) as tar:
        file = tar.extractfile("package/package.json")
        assert file is not None
        found: dict[str, object] = json.load(file)
        return found


if __name__ == "__main__":
    unittest.main()
