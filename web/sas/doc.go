// Package sas reads shared access signatures, by which clients of Service Bus
// say who they are, and decides what they allow.
//
//	SharedAccessSignature sr=AUDIENCE&sig=SIGNATURE&se=EXPIRY&skn=RULE
//
// The fields come in any order. The signature is the base64 of the HMAC-SHA256,
// under the bytes of a rule's key as it is written, of the audience just as it
// stands in the token, percent signs and all, a newline and the expiry in seconds
// since 1970. Either key of a rule will do.
//
// A token allows what its rule does, at its audience and below it. Names of hosts
// are not compared: the same server is called localhost, by its address, and by
// the name of the service that it stands in for.
//
//	Parse, Token     a token and what it says
//	Claim            what a client has shown: a token, or a rule's name and key
//	Rules, Gate      which rules decide, and whether they are asked at all
package sas
