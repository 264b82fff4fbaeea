// SPDX-License-Identifier: Apache-2.0

/// The limits of Apple's push service, in bytes.
///
/// Sources: "Sending notification requests to APNs" and "Generating a remote notification".
public enum APNsLimits {
  public static let maxPayload = 4096
  public static let maxVoIPPayload = 5120
  public static let maxCollapseID = 64
}
