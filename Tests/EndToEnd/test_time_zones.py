# SPDX-License-Identifier: Apache-2.0
"""Time zones: quiet hours on the devices of a traveller, names that browsers send, and the system's zone files.

`RelayDeliveryTests` proves the rules: `ZoneFileTests` and `ZoneDumpTests` those of zone files, `QuietClockTests` the
zone that counts on a device.
"""

import struct
from datetime import datetime, timedelta, timezone

import pytest

from api import call
from metrics import metrics

RELAY_OPTIONS = ("--presence-grace", "0")


def span(hours_from_utc: int, **fields) -> dict:
    """Quiet hours that hold, from an hour ago to an hour from now at this offset, without a time zone."""
    there = datetime.now(timezone.utc) + timedelta(hours=hours_from_utc)
    return {"from": f"{there - timedelta(hours=1):%H:%M}", "to": f"{there + timedelta(hours=1):%H:%M}", "mode": "hold"} | fields


def outcomes(circle, person):
    """Returns the outcome of a message from Alice for each device, by a dry run."""
    answer = call(circle.relay, "POST", "/v1/decisions", {"room": circle.room, "from": circle.alice.user, "user": person.user})
    assert answer.status == 200, answer
    return {one["device"]: one["decision"]["outcome"]["kind"] for one in answer.json["devices"]}


# Travellers


def test_quiet_hours_without_a_zone_follow_each_device(circle):
    bob = circle.away("bob")
    bob.register(timeZone="Etc/GMT-9")
    bob.register("tablet", timeZone="Etc/GMT+5")
    # This device follows the one that has registered last with a zone.
    bob.register("laptop")
    stored = bob.prefer(quietHours=span(9))
    assert "timeZone" not in stored["quietHours"] and "warnings" not in stored
    assert outcomes(circle, bob) == {"phone": "hold", "tablet": "push", "laptop": "push"}
    bob.register(timeZone="Etc/GMT-9")
    assert outcomes(circle, bob) == {"phone": "hold", "tablet": "push", "laptop": "hold"}
    bob.register("tablet", timeZone="Etc/GMT-9")
    assert set(outcomes(circle, bob).values()) == {"hold"}
    bob.prefer(quietHours=span(9, timeZone="Etc/GMT+5"))
    assert set(outcomes(circle, bob).values()) == {"push"}


def test_a_held_push_is_sent_when_its_device_comes_to_a_place_where_it_is_day(circle):
    bob = circle.away("bob")
    bob.register(timeZone="Etc/GMT-9")
    bob.prefer(quietHours=span(9))
    circle.send("Good morning")
    circle.pass_due()
    assert bob.phone.texts() == []
    bob.register(timeZone="Etc/GMT+5")
    assert bob.phone.ring("Good morning")


@pytest.mark.parametrize("over", ["http", "socket"])
def test_quiet_hours_without_any_zone_count_in_utc_with_a_warning(circle, over):
    bob = circle.away("bob")
    bob.register(timeZone="Etc/Unknown")

    def prefer(**fields):
        return bob.prefer(**fields) if over == "http" else circle.back(bob).request("preferences", **fields)

    (warning,) = prefer(quietHours=span(0))["warnings"]
    assert (warning["code"], warning["at"]) == ("no_time_zone", "/quietHours/timeZone") and "UTC" in warning["message"]
    assert outcomes(circle, bob) == {"phone": "hold"}
    assert bob.ask("GET", "preferences").json["warnings"] == [warning]
    bob.register("tablet", timeZone="Etc/GMT-9")
    assert "warnings" not in prefer() and "warnings" not in bob.ask("GET", "preferences").json
    assert outcomes(circle, bob) == {"phone": "push", "tablet": "push"}
    bob.forget("tablet")
    assert "warnings" not in prefer(quietHours=span(0, timeZone="UTC"))
    assert "warnings" not in prefer(quietHours=None)


def test_an_absent_and_a_null_zone_are_the_same(circle):
    bob = circle.away("bob")
    assert bob.prefer(quietHours=span(0))["quietHours"] == bob.prefer(quietHours=span(0, timeZone=None))["quietHours"]


# Names


@pytest.mark.parametrize("name", ["Asia/Calcutta", "Europe/Kiev", "US/Pacific", "UTC", "America/Argentina/ComodRivadavia"])
def test_an_old_name_of_a_zone_is_known(circle, name):
    bob = circle.away("bob")
    registered = bob.put("devices/phone", bob.phone.registration | {"timeZone": name})
    assert registered["timeZone"] == name and "warnings" not in registered


@pytest.mark.parametrize("name", ["+00:00", "Etc/Unknown", "Mars/Olympus", "europe/berlin", "../../etc/passwd", "", "x" * 64])
def test_a_registration_with_an_unknown_zone_succeeds_with_a_warning(circle, name):
    bob = circle.away("bob")
    registered = bob.put("devices/phone", bob.phone.registration | {"timeZone": name})
    (warning,) = registered["warnings"]
    assert (warning["code"], warning["at"]) == ("unknown_time_zone", "/timeZone") and warning["message"]
    shown = bob.ask("GET", "devices/phone").json
    assert (shown["timeZone"], shown["warnings"]) == (name, [warning])
    session = circle.back(bob)
    reply = session.request("device", device="phone", **bob.phone.registration, timeZone=name)
    assert reply["warnings"] == [warning]


# Zone files


def zone_file(hours: float) -> bytes:
    """A zone file with one offset."""

    def block(version: bytes) -> bytes:
        counts = struct.pack(">6L", 0, 0, 0, 0, 1, 4)
        return b"TZif" + version + bytes(15) + counts + struct.pack(">lBB", int(hours * 3600), 0, 0) + b"ABC\0"

    return block(b"2") * 2 + b"\n\n"


class Zones:
    """A folder of zone files."""

    def __init__(self, folder, version="2026x", **zones):
        self.folder = folder
        folder.mkdir()
        self.install(version, **zones)

    def install(self, version, **zones):
        (self.folder / "Mars").mkdir(exist_ok=True)
        (self.folder / "tzdata.zi").write_text(f"# version {version}\n# more\n")
        for name, content in zones.items():
            (self.folder / "Mars" / name).write_bytes(content if isinstance(content, bytes) else zone_file(content))

    def remove(self, name):
        (self.folder / "Mars" / name).unlink()


@pytest.fixture
def zones(tmp_path):
    return Zones(tmp_path / "zoneinfo", Olympus=9, Utopia=-5)


def log_of(relay, words):
    return [line for line in relay.log.read_text().splitlines() if words in line]


def test_a_reload_applies_an_exchanged_zone_file(gather, zones):
    circle = gather(*RELAY_OPTIONS, "--zone-folder", zones.folder)
    assert metrics(circle.relay)["stillwire_tzdata_info{2026x}"] == 1
    assert "2026x" in log_of(circle.relay, "time zone rules")[0]
    bob = circle.away("bob", quietHours=span(9, timeZone="Mars/Olympus"))
    assert outcomes(circle, bob) == {"phone": "hold"}
    circle.send("Good morning")
    circle.pass_due()
    assert bob.phone.texts() == []
    zones.install("2026y", Olympus=14)
    # Without a reload nothing changes.
    assert outcomes(circle, bob) == {"phone": "hold"}
    circle.relay.reload()
    assert outcomes(circle, bob) == {"phone": "push"}
    # The relay decides held pushes again.
    assert bob.phone.ring("Good morning")
    assert metrics(circle.relay)["stillwire_tzdata_info{2026y}"] == 1
    # A reload without new files leaves the rules.
    before = len(log_of(circle.relay, "time zone rules"))
    circle.relay.reload()
    assert len(log_of(circle.relay, "time zone rules")) == before


@pytest.mark.parametrize("loss", ["removed", "damaged"])
def test_a_stored_zone_that_is_lost_keeps_its_last_rules(gather, zones, loss):
    circle = gather(*RELAY_OPTIONS, "--zone-folder", zones.folder)
    bob = circle.away("bob", quietHours=span(9, timeZone="Mars/Olympus"))
    carol = circle.away("carol", quietHours=span(-5))
    carol.register(timeZone="Mars/Utopia")
    # The newest file counts, not the one at the time of the preference.
    zones.install("2026y", Olympus=2)
    circle.relay.reload()
    assert outcomes(circle, bob) == {"phone": "push"}
    bob.prefer(quietHours=span(2, timeZone="Mars/Olympus"))
    zones.install("2026z", Other=0)
    for name in "Olympus", "Utopia":
        if loss == "removed":
            zones.remove(name)
        else:
            zones.install("2026z", **{name: zone_file(1)[:50]})

    def check():
        assert outcomes(circle, bob) == outcomes(circle, carol) == {"phone": "hold"}
        shown = bob.ask("GET", "preferences").json
        assert [(one["code"], one["at"]) for one in shown["warnings"]] == [("last_time_zone_rules", "/quietHours/timeZone")]
        shown = carol.ask("GET", "devices/phone").json
        assert [(one["code"], one["at"]) for one in shown["warnings"]] == [("last_time_zone_rules", "/timeZone")]

    circle.relay.reload()
    check()
    (line,) = log_of(circle.relay, "keep their last rules")
    assert "Mars/Olympus, Mars/Utopia" in line
    assert bool(log_of(circle.relay, "is damaged: it is truncated")) == (loss == "damaged")
    circle.restart()
    check()
    # Nobody has stored this zone.
    assert bob.ask("PUT", "preferences", {"quietHours": span(0, timeZone="Mars/Tharsis")}).status == 422
    # It comes back with a later package.
    zones.install("2027a", Olympus=2, Utopia=-5)
    circle.relay.reload()
    assert "warnings" not in bob.ask("GET", "preferences").json
    assert outcomes(circle, bob) == {"phone": "hold"}


@pytest.mark.parametrize("folder", ["missing", "empty"])
def test_without_zone_files_the_rules_of_swift_count_with_a_warning(gather, tmp_path, folder):
    if folder == "empty":
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "tzdata.zi").write_text("# version 2026x\n")
    circle = gather(*RELAY_OPTIONS, "--zone-folder", tmp_path / folder)
    assert metrics(circle.relay)["stillwire_tzdata_info{none}"] == 1
    assert "WARN" in log_of(circle.relay, "no zone files")[0].upper()
    bob = circle.away("bob", quietHours=span(9, timeZone="Asia/Tokyo"))
    assert outcomes(circle, bob) == {"phone": "hold"}
    Zones(tmp_path / "later", Olympus=9).folder.rename(tmp_path / "files")
    # An operator installs tzdata: the zone of the preference keeps its rules, although the files lack it.
    (tmp_path / folder / "tzdata.zi").unlink(missing_ok=True)
    if folder == "empty":
        (tmp_path / folder).rmdir()
    (tmp_path / "files").rename(tmp_path / folder)
    circle.relay.reload()
    assert metrics(circle.relay)["stillwire_tzdata_info{2026x}"] == 1
    assert outcomes(circle, bob) == {"phone": "hold"}


def test_files_that_are_no_zones_are_skipped(gather, zones):
    zones.install("2026x", **{"__init__.py": b"", "big": b"TZif" + bytes(70_000), "lower": zone_file(1)})
    (zones.folder / "localtime").write_bytes(zone_file(1))
    (zones.folder / "posix").symlink_to(zones.folder)
    (zones.folder / "Mars" / "Deep").symlink_to(zones.folder)
    (zones.folder / "Link").symlink_to("Mars/Olympus")
    circle = gather(*RELAY_OPTIONS, "--zone-folder", zones.folder)
    bob = circle.away("bob")
    assert len(log_of(circle.relay, "more than 65,536 bytes")) > 0
    for name, status in {"Link": 200, "Mars/lower": 200, "Mars/big": 422, "localtime": 422, "posix/Link": 422}.items():
        answer = bob.ask("PUT", "preferences", {"quietHours": span(0, timeZone=name)})
        assert answer.status == status, name
