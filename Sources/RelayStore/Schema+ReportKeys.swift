// SPDX-License-Identifier: Apache-2.0

/// The table of report keys, by which an app's extensions authenticate.
extension Schema {
  static let reportKeys = """
    CREATE TABLE report_keys (
      -- Increases with each key, so that the oldest key of a device is known.
      id INTEGER PRIMARY KEY AUTOINCREMENT,
      -- SHA-256 of the key. The key itself is not stored.
      hash BLOB NOT NULL UNIQUE,
      user INTEGER NOT NULL,
      device TEXT NOT NULL,
      -- A key is revoked together with its device.
      FOREIGN KEY (user, device) REFERENCES devices ON DELETE CASCADE
    ) STRICT;
    CREATE INDEX report_keys_device ON report_keys (user, device, id);
    """
}
