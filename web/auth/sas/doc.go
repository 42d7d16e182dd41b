// Package sas parses shared access signatures, the tokens with which clients of Service
// Bus authenticate, and decides which rights they have.
//
//	SharedAccessSignature sr=AUDIENCE&sig=SIGNATURE&se=EXPIRY&skn=RULE
//
// The fields come in any order. The signature is the base64 of an HMAC-SHA256 whose key is
// the bytes of a rule's key as it is written. It covers the audience exactly as it stands
// in the token, with its percent signs, a newline and the expiry in seconds since 1970.
// Either key of a rule is valid.
//
// A token allows what its rule does, at its audience and below it, in the namespace that
// the audience's host names. One server may be called localhost, by its address, and by
// the name of the service that it stands in for: see Names.
//
//	Parse, Token   a token and its fields
//	Names          the hosts that name a namespace
//	Credential     the credential of a client: a token, or a rule's name and key
//	Rules, Policy  the rules that apply, and whether they are enforced at all
package sas
