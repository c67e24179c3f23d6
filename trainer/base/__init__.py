"""What all recipes share.

corpus, pairs, partners  phrases and their sentences on disk, positive pairs     losses    tensors in, one number out
forward                  token ids in, vectors out, with gradients               anchor    keeps document vectors in place
loop                     steps, schedule, dev score, checkpoints                 alignment least squares after training
job                      a training with checkpoints, curve and bundle           adapters  what changed, as a file
"""
