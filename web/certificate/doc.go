// Package certificate manages the certificate for TLS: the operator's own, or one that is
// signed by a local CA which this package creates.
//
// Everything is in one folder:
//
//	tls.crt, tls.key   the operator's certificate and key; if they exist, nothing else is used
//	ca.pem             else the CA, for clients to trust
//	issuer.pem         and the key and certificate that sign certificates; readable by the owner only
//
// A CA that a developer's whole machine trusts is a danger to the developer, so this one can
// do little: critical name constraints limit it to a few names (those of Service Bus, of
// loopback, and the requested ones). Its own key is discarded as soon as it has signed an
// issuer with the same constraints. The key in the folder is the issuer's, and every client
// enforces the constraints on it, even one that ignores those of the roots that it trusts.
//
// The server's certificate is never in a file. It is created at each start, and replaced
// without a restart long before it ends; the folder is checked again as connections come, so
// that a replaced certificate is used at once. Servers that share a folder have one CA.
package certificate
