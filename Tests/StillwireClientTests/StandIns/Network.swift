// SPDX-License-Identifier: Apache-2.0
// Declares the parts of Apple's Network that StillwireClient uses, as in its Swift interface. It checks types, and never
// runs. Above each declaration is the page of Apple's documentation that it comes from.

// https://developer.apple.com/documentation/network/nwprotocoloptions
public class NWProtocolOptions {}

// https://developer.apple.com/documentation/network/nwprotocol
public class NWProtocol {}

// https://developer.apple.com/documentation/network/nwprotocoltls
public class NWProtocolTLS: NWProtocol {
  // https://developer.apple.com/documentation/network/nwprotocoltls/options
  public class Options: NWProtocolOptions {
    // https://developer.apple.com/documentation/network/nwprotocoltls/options/init()
    public override init() { fatalError() }
  }
}
