//! Files, standard input and compressed streams as chunks of bytes.
