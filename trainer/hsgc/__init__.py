"""HS-GC (LREC-COLING 2024): document vectors that fall into clusters."""
