// Package users reads the file of people who may sign in. A line is one of them:
//
//	name:role:hash
//
// The role is viewer, operator or admin; the hash is of the password, by argon2id
// ($argon2id$v=19$m=…,t=…,p=…$salt$hash) or bcrypt ($2a$…, $2b$…, $2y$…), as `mayfly
// users hash` and htpasswd -B write it. Empty lines, and those that begin with #, say
// nothing.
//
// Hashes that would take much memory or long are refused when the file is read, before
// either is spent.
package users
