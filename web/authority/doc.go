// Package authority has the certificate that TLS is served with: the operator's
// own, or one that a local CA gives out which this package makes.
//
// A folder holds all of it:
//
//	tls.crt, tls.key   the operator's certificate and key, if there are any; nothing else is used then
//	ca.pem             otherwise: the CA, for clients to trust
//	issuer.pem         and what it lets certificates be signed with; for nobody else to read
//
// A CA that a developer has told a whole machine to trust is a danger to that
// developer, so ours can do little: it is for a few names only (those of
// Service Bus, of loopback, and what it was asked for), as critical name
// constraints say. Its own key is forgotten as soon as it has signed an issuer
// of the same constraints; the key in the folder is the issuer's, which every
// client holds to them, even one that asks nothing of what it trusts as a root.
//
// The server's certificate is never in a file. It is made for each start, and
// made anew, without one, long before it ends; the folder is looked at again as
// connections come, so that a certificate which was replaced is used at once.
// Servers may share a folder: they have one CA.
package authority
